// Small digits below the line, for texts that no equation typesets: q₂ and r₋₁.

export const below = (number) => String(number).replace('-', '₋').replace(/\d/g, (digit) => '₀₁₂₃₄₅₆₇₈₉'[digit]);
