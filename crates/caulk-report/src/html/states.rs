//! The graph of states on a finding's page: an SVG with numbered edges, and a list of what each edge stands for. Nodes lie in
//! layers by their distance from the function's entry.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::escape;
use crate::states::{StateEdge, StateNode, StatePicture};

/// Nodes beyond which a picture cannot be read.
pub(crate) const MAX_NODES: usize = 24;
/// In units of the drawing, which are pixels unless the page is narrow.
const LETTER: usize = 7;
const LINE: usize = 17;
const PADDING: usize = 10;
const GAP: usize = 34;
const LAYER_GAP: usize = 56;

/// Where a node lies: its middle and the top, its width and height.
struct Box {
    middle: usize,
    top: usize,
    width: usize,
    height: usize,
}

/// The picture and its list; nothing where there is nothing to see, or too much.
pub(super) fn section(picture: &StatePicture) -> String {
    if picture.edges.is_empty() || picture.nodes.len() > MAX_NODES {
        return String::new();
    }
    let mut html = String::from("<section class=\"states\">\n<h2>States of the memory</h2>\n");
    drawing(&mut html, picture);
    html.push_str("<ol>\n");
    for edge in &picture.edges {
        let class = if edge.is_leak { " class=\"end\"" } else { "" };
        let _ = writeln!(html, "<li{class}>{}</li>", escape::with_code(&in_words(edge)));
    }
    html.push_str("</ol>\n");
    if picture.is_cut {
        html.push_str("<p class=\"hint\">The budget ran out: not all paths are here.</p>\n");
    }
    html.push_str("</section>\n");
    html
}

fn in_words(edge: &StateEdge) -> String {
    let statement = format!("line {}: {}", edge.line, edge.statement);
    match edge.conditions.join(", ") {
        conditions if conditions.is_empty() => statement,
        conditions => format!("{statement}, where {conditions}"),
    }
}

fn drawing(html: &mut String, picture: &StatePicture) {
    let boxes = layout(picture);
    let width = boxes.iter().map(|b| b.middle + b.width / 2 + PADDING).max().unwrap_or(0);
    let height = boxes.iter().map(|b| b.top + b.height + PADDING).max().unwrap_or(0);
    let _ = writeln!(
        html,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"states of the memory; the list below has \
         the same in words\">\n<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L7,3 L0,6 z\"/></marker></defs>"
    );
    for (at, edge) in picture.edges.iter().enumerate() {
        arrow(html, at + 1, edge, &boxes[edge.from], &boxes[edge.to]);
    }
    for (at, node) in picture.nodes.iter().enumerate() {
        rectangle(html, node, &boxes[at]);
    }
    html.push_str("</svg>\n");
}

fn lines(node: &StateNode) -> Vec<String> {
    match node.states.is_empty() {
        true => vec!["entry".to_owned()],
        false => node.states.iter().map(|(object, state)| format!("{object}: {state}")).collect(),
    }
}

fn rectangle(html: &mut String, node: &StateNode, place: &Box) {
    let class = if node.is_leak { "node end" } else { "node" };
    let Box { middle, top, width, height } = place;
    let _ = writeln!(
        html,
        "<g class=\"{class}\"><rect x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
        middle - width / 2
    );
    for (at, line) in lines(node).iter().enumerate() {
        let y = top + PADDING + at * LINE + LINE * 2 / 3;
        let _ = writeln!(html, "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape::text(line));
    }
    html.push_str("</g>\n");
}

/// Down to a later layer, or in a bow to the side to the same or an earlier one. Its number stands in the middle.
fn arrow(html: &mut String, number: usize, edge: &StateEdge, from: &Box, to: &Box) {
    let class = if edge.is_leak { "edge end" } else { "edge" };
    let (x1, y1, x2) = (from.middle, from.top + from.height, to.middle);
    let goes_down = to.top > from.top;
    let (path, x, y) = match goes_down {
        true => (format!("M{x1},{y1} L{x2},{}", to.top), (x1 + x2) / 2, (y1 + to.top) / 2),
        false => {
            let side = from.middle + from.width / 2 + GAP;
            let (start, end) = (from.top + from.height / 2, to.top + to.height / 2);
            let path = format!(
                "M{},{start} Q{side},{} {},{end}",
                from.middle + from.width / 2,
                (start + end) / 2,
                to.middle + to.width / 2
            );
            (path, side, (start + end) / 2)
        }
    };
    // Several edges between the same nodes would hide each other's numbers.
    let x = x + number % 3 * 16;
    let _ = writeln!(
        html,
        "<g class=\"{class}\"><path d=\"{path}\" marker-end=\"url(#tip)\"/><circle cx=\"{x}\" cy=\"{y}\" r=\"9\"/>\
         <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{number}</text></g>",
        y + 4
    );
}

fn layout(picture: &StatePicture) -> Vec<Box> {
    let depths = depths(picture);
    let sizes: Vec<(usize, usize)> = picture.nodes.iter().map(|node| size(&lines(node))).collect();
    let layers = depths.iter().copied().max().map_or(0, |deepest| deepest + 1);
    let of = |layer: usize| -> Vec<usize> { (0..depths.len()).filter(|node| depths[*node] == layer).collect() };
    let layer_width = |layer: usize| of(layer).iter().map(|node| sizes[*node].0 + GAP).sum::<usize>();
    let widest = (0..layers).map(layer_width).max().unwrap_or(0);
    let mut boxes: Vec<Box> =
        sizes.iter().map(|(width, height)| Box { middle: 0, top: 0, width: *width, height: *height }).collect();
    let mut top = PADDING;
    for layer in 0..layers {
        let nodes = of(layer);
        let mut left = PADDING + (widest - layer_width(layer)) / 2;
        for &node in &nodes {
            boxes[node].middle = left + sizes[node].0 / 2;
            boxes[node].top = top;
            left += sizes[node].0 + GAP;
        }
        top += nodes.iter().map(|node| sizes[*node].1).max().unwrap_or(0) + LAYER_GAP;
    }
    boxes
}

fn size(lines: &[String]) -> (usize, usize) {
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    (longest * LETTER + 2 * PADDING, lines.len() * LINE + 2 * PADDING)
}

/// Edges from the entry to each node, on the shortest way. What no edge leads to is drawn beside the entry.
fn depths(picture: &StatePicture) -> Vec<usize> {
    let mut depths: Vec<Option<usize>> = vec![None; picture.nodes.len()];
    let mut queue = VecDeque::from([0]);
    depths[0] = Some(0);
    while let Some(node) = queue.pop_front() {
        for edge in picture.edges.iter().filter(|edge| edge.from == node) {
            if depths[edge.to].is_none() {
                depths[edge.to] = depths[node].map(|depth| depth + 1);
                queue.push_back(edge.to);
            }
        }
    }
    depths.into_iter().map(|depth| depth.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(edges: &[(usize, usize)], nodes: usize) -> StatePicture {
        let edge = |&(from, to): &(usize, usize)| StateEdge {
            from,
            to,
            line: 3,
            statement: "free()".to_owned(),
            conditions: vec!["`a<b` is true".to_owned()],
            is_leak: to == 1,
        };
        let node =
            |at: usize| StateNode { states: vec![(format!("malloc() of line {at}"), "allocated")], is_leak: at == 1 };
        StatePicture {
            function: "f".to_owned(),
            nodes: (0..nodes).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            is_cut: false,
        }
    }

    #[test]
    fn layers_by_distance_from_the_entry() {
        let picture = picture(&[(0, 1), (0, 2), (2, 3), (3, 0)], 4);
        assert_eq!(depths(&picture), [0, 1, 1, 2]);
        let boxes = layout(&picture);
        assert_eq!(boxes[1].top, boxes[2].top);
        assert!(boxes[1].middle + boxes[1].width / 2 < boxes[2].middle - boxes[2].width / 2, "no two nodes overlap");
        assert!(boxes[3].top > boxes[1].top + boxes[1].height);
    }

    #[test]
    fn what_sources_say_is_escaped_and_the_loss_is_marked() {
        let html = section(&picture(&[(0, 1), (1, 0)], 2));
        assert!(html.contains("<li class=\"end\">line 3: free(), where <code>a&lt;b</code> is true</li>"), "{html}");
        assert!(html.contains("class=\"node end\"") && html.contains("class=\"edge end\""), "{html}");
    }

    #[test]
    fn nothing_is_drawn_where_there_is_nothing_or_too_much() {
        assert_eq!(section(&picture(&[], 1)), "");
        assert_eq!(section(&picture(&[(0, 1)], MAX_NODES + 1)), "");
    }
}
