import assert from "node:assert/strict";
import { test } from "node:test";
import { tree } from "../src/tree";

const at = (file: string, line: number) => ({ uri: `file:///p/${file}`, line, character: 4 });

test("leaks are sorted by place and keep the order of their steps", () => {
  const nodes = tree([
    { message: "second", place: at("a%20b.c", 9), steps: [] },
    {
      message: "first",
      place: at("a%20b.c", 1),
      steps: [
        { message: "lost", place: at("b.c", 7) },
        { message: "allocated", place: at("b.c", 3) },
      ],
    },
  ]);
  assert.deepEqual(nodes.map((node) => node.label), ["a b.c:2: first", "a b.c:10: second"]);
  assert.deepEqual(nodes[0].children.map((node) => node.label), ["b.c:8: lost", "b.c:4: allocated"]);
});
