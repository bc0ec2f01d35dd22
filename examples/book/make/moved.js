// Pages that have become sections of others. Their addresses lead on, with JavaScript to the same section.

/// For each old page where its text is now, and the sections that kept their names.
const moved = {
  labml: { page: 'blog_posts.html', section: 'labml-s-relative-multi-head-attention', kept: ['the-same-shift'] },
};

const leading_on = ({ page, section, kept }) => `<!DOCTYPE html>
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
`;

/// The pages that lead on: the name and the HTML of each.
const moved_pages = () => Object.entries(moved).map(([name, to]) => [`${name}.html`, leading_on(to)]);

module.exports = { moved, moved_pages };
