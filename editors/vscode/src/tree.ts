// Diagnostics as a tree: each leak with the steps of its path. Knows nothing of the editor, so that it can be tested without one.

export interface Place {
  uri: string;
  line: number;
  character: number;
}

export interface Leak {
  message: string;
  place: Place;
  steps: { message: string; place: Place }[];
}

export interface Node {
  label: string;
  place: Place;
  children: Node[];
}

function name(uri: string): string {
  return decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
}

/** Leaks in the order of their places, each with its steps in the order of the path. */
export function tree(leaks: Leak[]): Node[] {
  const sorted = [...leaks].sort(
    (a, b) => a.place.uri.localeCompare(b.place.uri) || a.place.line - b.place.line || a.place.character - b.place.character,
  );
  return sorted.map((leak) => ({
    label: `${name(leak.place.uri)}:${leak.place.line + 1}: ${leak.message}`,
    place: leak.place,
    children: leak.steps.map((step) => ({
      label: `${name(step.place.uri)}:${step.place.line + 1}: ${step.message}`,
      place: step.place,
      children: [],
    })),
  }));
}
