// Pages that have become sections of others. What stood at their addresses leads on, with JavaScript to the same section.

/// For each old page where its text is now, and the sections that kept their names.
const moved = {
  labml: { page: 'blog_posts.html', section: 'labml-s-relative-multi-head-attention', kept: ['the-same-shift'] },
};

/// The page that leads on: its name and its HTML.
const moved_pages = () => Object.entries(moved).map(([name, { page, section, kept }]) => [`${name}.html`, `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<link rel="canonical" href="${page}#${section}">
<script>
const section = location.hash.slice(1);
location.replace('${page}#' + (${JSON.stringify(kept)}.includes(section) ? section : '${section}'));
</script>
<meta http-equiv="refresh" content="0; url=${page}#${section}">
<p>This page is now <a href="${page}#${section}">a section of another</a>.</p>
</html>
`]);

module.exports = { moved, moved_pages };
