#!/usr/bin/env python3
"""A header, or a page, as doxygen shall see it: seen.py FILE

A header is a group below that of its folder. Its opening comment describes the group; without one, its first
declaration does. What a header says once, in a comment or in code, documents all that it is about. Beside a comment in
front of a declaration these count:

    int64_t n = 0;  // what stands behind a member, or above several in one line, for each of them
    Tensor f(a); Tensor f(a, b);     the comment above, for all that follow by the same name
    field(n, {"n", "help"});         the help of a config's field, for the member of that name
    [[deprecated("renamed g")]]      the message
    SAID_ONCE, below                 what every config or module has
"""
import functools
import re
import sys
from pathlib import Path

SAID_ONCE = {
    r'using Layer = ': 'What this config describes.',
    r'static constexpr const char\* type = ': 'The type by which JSON names it.',
    r'static constexpr KnownModel known': 'What programs know of models that are named after it.',
    r'void fields\(auto&& field': 'Calls field(value, description) for each field; see core/field.h.',
    r'void width_fields\(': 'Calls field(value, description) for each size that the layer takes from its surroundings.',
    r'(inline |constexpr )?bool has_heads\(': 'Whether the layer takes a number of heads.',
    r'constexpr auto names\(': 'The names of the values, as files and flags spell them; see core/named.h.',
    r'bool operator==\(.*= default': 'Whether all members are equal.',
    r'\w+\(\) = default;': 'Makes one that holds nothing.',
    r'\w+Config config;': 'What it was made from.',
    r'Width width;': 'The channels of its tokens, and its heads.',
    r'Sight sight\{\};': 'Which keys a query sees.',
}
# int64_t begin = 0, end = 0;  // what stands behind them
VALUE = r'\w+(?: = [^,;()]+|\{[^;]*?\})?'
MEMBERS = re.compile(
    r'(?P<indent> *)(?!using|return|typedef|friend)'
    r'(?P<type>(?:constexpr |static |inline |const )*[\w:]+(?:<.*>)?[&*]?) '
    rf'(?P<names>{VALUE}(?:, {VALUE})*);(?: +//(?!/) ?(?P<behind>.*))?$')
BETWEEN_MEMBERS = r', (?=[A-Za-z_]\w*(?: =|,|$|\{))(?![^{}]*\})'
# static Tensor from(
FUNCTION = re.compile(r' *(?! |return|throw|else|new|field)'
                      r'(?:(?:[\w:<>,*&]+ )*[\w:<>,*&]+ [*&]?(?=\w)|explicit |(?=[A-Z]))'
                      r'(?P<name>operator\(\)|operator ?[^\w\s(]+|\w+)\(')


def sentence(text):
    return text[:1].upper() + text[1:].rstrip('.') + '.' if text else ''


def comment(text):
    return f'/** {text} */ ' if text else ''


def whole_sentences(line):
    """The line of a comment, in which "et al." does not end the first sentence; equations stay as they are."""
    return line if re.match(r' *///?  ', line) else re.sub(r'\bal\.(?= |$)', r'al.\\ ', line)


def helps(code):
    """The help of each field that a config lists in this code."""
    listed = r'field\(\s*(?:config\.)?(\w+),\s*((?:\{\s*"[^"]*",(?:\s*"(?:[^"\\]|\\.)*")+)|fields::\w+)'
    shared = r'inline Field (\w+)\(\) \{\s*return (\{(?:\.name = )?"\w+",(?:\s*(?:\.help = )?"[^"]*")+)'
    for name, said in re.findall(listed, code) + re.findall(shared, code):
        name = name.removesuffix('_field')
        yield name, shared_help()[said[8:]] if said.startswith('fields::') else ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', said)[1:])


SHARED = 'optim/schedule.h', 'optim/trainer_config.h', 'nn/fields.h'


@functools.cache
def shared_help():
    """Fields of several configs, which mean the same wherever a member has their name."""
    return dict(pair for path in SHARED for pair in helps(Path(path).read_text()))


def documented_members(found, above, help):
    """Each member of the line by itself, with what is said of it; doxygen sees the comment above the first."""
    members = re.split(BETWEEN_MEMBERS, found['names'])
    said = [above] * len(members)
    if found['behind']:
        parts = re.split(r', (?=\[)', found['behind'])
        said = parts if len(parts) == len(members) else [found['behind']] * len(members)
    said = [text or sentence(help.get(re.match(r'\w+', member)[0])) for member, text in zip(members, said)]
    if above:
        said[0] = ''
    of_type = found['type']
    return found['indent'] + ' '.join(f'{comment(text)}{of_type} {member};' for member, text in zip(members, said))


def documented(line, above, overload, help):
    """The line with what is said of it, where no comment is above; `overload` is that of the function above it."""
    renamed = re.search(r'\[\[deprecated\("(.*)"\)\]\] ?', line)
    if renamed:
        return comment(f'Deprecated: {renamed[1]}.') + line.replace(renamed[0], '')
    if not above:
        for pattern, meaning in SAID_ONCE.items():
            if re.match(' *' + pattern, line):
                return comment(meaning) + line
    members = MEMBERS.match(line)
    if members:
        return documented_members(members, above, help)
    constant = re.match(r'constexpr \w+ (\w+)\{', line)
    if not above and constant:
        return comment(sentence(help.get(constant[1]))) + line
    return comment('' if above else overload) + line


def declarations(lines, help):
    above = name = of_name = ''  # the comment above; the function before, and what was said of it
    for line in lines:
        if re.match(r' *///', line):
            above += ' ' + line.strip(' /')
            yield whole_sentences(line)
            continue
        function = FUNCTION.match(line)
        yield documented(line, above.strip(), of_name if function and function['name'] == name else '', help)
        if function:
            name, of_name = function['name'], above.strip() or (of_name if function['name'] == name else '')
        elif not line.strip():
            name = of_name = ''
        if not re.match(r' *(template|requires|\[\[)', line):
            above = ''


def seen_header(path, lines):
    group = re.sub(r'\W', '_', path.removesuffix('.h'))
    yield f'/// @addtogroup {group}'
    opening = []
    body = lines[2:]
    while body[0].startswith('//'):
        opening.append(body.pop(0))
    if opening:
        yield '///'
        yield from ('/' + whole_sentences(line) for line in opening)
    else:
        first = re.search(r'(?:^ *///.+\n)+', '\n'.join(body), re.M)[0]
        words = ' '.join(line.strip(' /') for line in first.splitlines())
        yield '/// @brief ' + whole_sentences(re.split(r'(?<=\.)(?<!al\.) ', words)[0].rstrip(':'))
    # Of a namespace, doxygen takes into a group what is between these two.
    begins = next((n for n, line in enumerate(body) if line.startswith('namespace shiftgrad')), len(body))
    ends = next((n for n, line in enumerate(body) if line.startswith('}  // namespace shiftgrad')), len(body))
    yield from body[:begins + 1]
    yield f'/** @addtogroup {group}\n@{{ */'
    help = shared_help() | {name: help for name, help in helps('\n'.join(lines)) if help}
    yield from declarations(body[begins + 2:ends], help)
    yield '/** @} */'
    yield from body[ends:]


def seen_page(text):
    """A page as doxygen's Markdown has to have it."""
    # A link within a page leads to a heading by a name that doxygen does not give it: its words stay.
    text = re.sub(r'\[([^][]*)\]\(#[^)]*\)', r'\1', text)
    # An apostrophe would end a piece of code, and a heading would take in the code below it.
    text = re.sub(r"(?<!`)`([^`\n]*'[^`\n]*)`(?!`)", r'``\1``', text)
    return re.sub(r'^(#+ .*)\n(?=    )', r'\1\n\n', text, flags=re.M)


def main():
    path = Path(sys.argv[1])
    text = path.read_text()
    if path.suffix == '.h':
        name = str(path.resolve().relative_to(Path.cwd()))
        print('\n'.join(seen_header(name, text.replace('::SHIFTGRAD_PRECISION', '').split('\n'))))
    else:
        print(seen_page(text))


main()
