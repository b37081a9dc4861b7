//! Resolves recursive unions.

use std::collections::HashSet;

use super::{Id, Node, Schema};

/// Replaces each union that is part of a cycle of unions by all nodes that can be reached from it.
/// A grammar must consume input before it returns to a rule.
pub(super) fn unroll(schema: &mut Schema) {
    let circular = circular(schema);
    let reached: Vec<(Id, Vec<Id>)> =
        circular.into_iter().map(|id| (id, reached(schema, id))).collect();
    for (id, parts) in reached {
        schema.entries[id].node = if parts.is_empty() { Node::Never } else { Node::Union(parts) };
    }
}

/// Returns the unions inside this one, possibly more than once.
fn unions(schema: &Schema, id: Id) -> impl Iterator<Item = Id> {
    let parts = match schema.node(id) {
        Node::Union(parts) => parts.as_slice(),
        _ => &[],
    };
    parts.iter().copied().filter(|part| matches!(schema.node(*part), Node::Union(_)))
}

/// Returns the unions that are in a cycle or lead to one.
fn circular(schema: &Schema) -> Vec<Id> {
    let count = schema.entries.len();
    let mut parents = vec![Vec::new(); count];
    let mut open = vec![0_usize; count];
    for (id, open) in open.iter_mut().enumerate() {
        for part in unions(schema, id) {
            parents[part].push(id);
            *open += 1;
        }
    }
    // A union is done if it contains no unions, or only unions that are done.
    let mut done: Vec<Id> = (0..count).filter(|id| open[*id] == 0).collect();
    while let Some(id) = done.pop() {
        for parent in &parents[id] {
            open[*parent] -= 1;
            if open[*parent] == 0 {
                done.push(*parent);
            }
        }
    }
    (0..count).filter(|id| open[*id] > 0).collect()
}

/// Returns the nodes that are not unions and can be reached from this one through unions.
fn reached(schema: &Schema, id: Id) -> Vec<Id> {
    let mut seen = HashSet::from([id]);
    let mut open = vec![id];
    let mut parts = Vec::new();
    while let Some(id) = open.pop() {
        match schema.node(id) {
            Node::Union(inner) => {
                open.extend(inner.iter().rev().copied().filter(|part| seen.insert(*part)));
            }
            Node::Never => {}
            _ => parts.push(id),
        }
    }
    parts
}
