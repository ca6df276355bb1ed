// Summary of a confusion matrix: classes that occur, correct predictions of each, and confusions.

/** Rows of true classes, columns of predicted ones. */
export type Confusion = number[][];

export interface ClassScore {
  index: number;
  /** Rows, or positions, of this class. */
  total: number;
  right: number;
}

export interface Mistake {
  from: number;
  to: number;
  count: number;
}

/** Classes of some row or of some prediction: a model may have outputs that nothing uses. */
export function usedClasses(confusion: Confusion): number[] {
  const sums = confusion.map((row, at) => {
    const taken = confusion.reduce((sum, other) => sum + (other[at] ?? 0), 0);
    return taken + row.reduce((sum, count) => sum + count, 0);
  });
  return sums.flatMap((sum, at) => (sum > 0 ? [at] : []));
}

/** Of each class that has rows, how many are predicted right; in the order of the classes. */
export function classScores(confusion: Confusion): ClassScore[] {
  return confusion.flatMap((row, index) => {
    const total = row.reduce((sum, count) => sum + count, 0);
    return total > 0 ? [{ index, total, right: row[index] ?? 0 }] : [];
  });
}

/** The pairs that are mistaken most often, the most frequent first. */
export function mistakes(confusion: Confusion, most: number): Mistake[] {
  return confusion
    .flatMap((row, from) => row.map((count, to) => ({ from, to, count })))
    .filter(({ from, to, count }) => from !== to && count > 0)
    .sort((one, other) => other.count - one.count)
    .slice(0, most);
}
