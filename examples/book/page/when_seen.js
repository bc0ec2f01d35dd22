// Figures that begin by themselves.

/// Does something once, when an element is first seen. It does nothing for a reader who wants no motion.
export function when_seen(element, action) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    action();
  }, { threshold: 0.5 });
  observer.observe(element);
}
