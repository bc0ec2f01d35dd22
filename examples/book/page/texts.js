// Texts to learn, small enough to be learned on a page.

/// "The House That Jack Built". Each verse adds a line to the verse before.
function rhyme() {
  const lines = ['the house that Jack built.', 'the malt that lay in', 'the rat that ate', 'the cat that killed',
    'the dog that worried', 'the cow with the crumpled horn that tossed',
    'the maiden all forlorn that milked', 'the man all tattered and torn that kissed',
    'the priest all shaven and shorn that married', 'the cock that crowed in the morn that woke',
    'the farmer sowing his corn that kept'];
  return lines.map((_, n) => `This is ${lines.slice(0, n + 1).reverse().join('\n')}\n`).join('\n');
}

/// Sonnets 18, 73 and 116 of Shakespeare, 1609.
const sonnets = `Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimmed;
And every fair from fair sometime declines,
By chance, or nature's changing course, untrimmed;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe, or eyes can see,
So long lives this, and this gives life to thee.

That time of year thou mayst in me behold
When yellow leaves, or none, or few, do hang
Upon those boughs which shake against the cold,
Bare ruined choirs, where late the sweet birds sang.
In me thou see'st the twilight of such day
As after sunset fadeth in the west;
Which by and by black night doth take away,
Death's second self, that seals up all in rest.
In me thou see'st the glowing of such fire,
That on the ashes of his youth doth lie,
As the death-bed whereon it must expire,
Consumed with that which it was nourished by.
This thou perceiv'st, which makes thy love more strong,
To love that well which thou must leave ere long.

Let me not to the marriage of true minds
Admit impediments. Love is not love
Which alters when it alteration finds,
Or bends with the remover to remove:
O no; it is an ever-fixed mark,
That looks on tempests, and is never shaken;
It is the star to every wandering bark,
Whose worth's unknown, although his height be taken.
Love's not Time's fool, though rosy lips and cheeks
Within his bending sickle's compass come;
Love alters not with his brief hours and weeks,
But bears it out even to the edge of doom.
If this be error and upon me proved,
I never writ, nor no man ever loved.
`;

/// Words without a meaning, each said twice: only the word before tells the second one.
function said_twice() {
  let state = 7;
  const below = (most) => (state = (state * 16807) % 2147483647) % most;
  const word = () => Array.from({ length: 5 }, () => 'abdegiklmnoprstu'[below(16)]).join('');
  return Array.from({ length: 500 }, word).map((one) => `${one} ${one}\n`).join('');
}

/// The text that a model trains on, and its end, which is held back to score the model on.
export function held_back(text) {
  const characters = [...text], end = characters.length - Math.floor(characters.length / 10);
  return { seen: characters.slice(0, end).join(''), unseen: characters.slice(end).join('') };
}

export const texts = {
  'The House That Jack Built': rhyme(),
  'Three sonnets': sonnets,
  'Words said twice': said_twice(),
};
