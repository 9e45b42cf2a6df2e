// SPDX-License-Identifier: Apache-2.0
//! Text tables whose columns come in named groups. Groups that do not fit side by side go below each other.

use super::format;

/// How a cell stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Like any other.
    Plain,
    /// Nothing to see.
    Dim,
    /// Worth a look.
    Warn,
    /// What the reader searches for.
    Bad,
}

/// One cell.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    tone: Tone,
}

/// Columns that belong together.
#[derive(Debug, Clone)]
pub struct Group {
    title: String,
    heads: Vec<String>,
    left: Vec<bool>,
    rows: Vec<Vec<Cell>>,
}

const BETWEEN_COLUMNS: usize = 2;
const BETWEEN_GROUPS: &str = " │ ";

impl Cell {
    /// A cell with a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: format::clean(&text.into()), tone }
    }

    /// A cell like any other.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl Group {
    /// Columns named `heads`; a head that starts with `<` is set flush left.
    pub fn new(title: &str, heads: &[&str]) -> Self {
        Self {
            title: format::clean(title),
            heads: heads.iter().map(|head| format::clean(head.trim_start_matches('<'))).collect(),
            left: heads.iter().map(|head| head.starts_with('<')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds one cell per column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.heads.len());
        self.rows.push(row);
    }

    fn widths(&self) -> Vec<usize> {
        let column = |i: usize| {
            let cells = self.rows.iter().map(|row| length(&row[i].text));
            cells.max().unwrap_or(0).max(length(&self.heads[i]))
        };
        let mut widths: Vec<usize> = (0..self.heads.len()).map(column).collect();
        let short = length(&self.title).saturating_sub(total(&widths));
        if let Some(last) = widths.last_mut() {
            *last += short;
        }
        widths
    }
}

/// Draws `groups`, each row led by the same row of `lead`, in as many blocks as `width` asks for.
pub fn draw(lead: &Group, groups: &[Group], width: usize, color: bool) -> String {
    let gap = length(BETWEEN_GROUPS);
    let lead_width = total(&lead.widths());
    let mut blocks: Vec<Vec<&Group>> = Vec::new();
    let mut used = 0;
    for group in groups {
        let needed = gap + total(&group.widths());
        match blocks.last_mut() {
            Some(block) if used + needed <= width => {
                block.push(group);
                used += needed;
            }
            _ => {
                blocks.push(vec![lead, group]);
                used = lead_width + needed;
            }
        }
    }
    let drawn: Vec<String> = blocks.iter().map(|block| draw_block(block, color)).collect();
    drawn.join("\n")
}

fn draw_block(groups: &[&Group], color: bool) -> String {
    let widths: Vec<Vec<usize>> = groups.iter().map(|group| group.widths()).collect();
    let line = |cells: Vec<String>| cells.join(BETWEEN_GROUPS).trim_end().to_string() + "\n";
    let title = |(group, widths): (&&Group, &Vec<usize>)| {
        paint(&pad(&group.title, total(widths), true), "1", color && !group.title.is_empty())
    };
    let mut text = line(groups.iter().zip(&widths).map(title).collect());
    let head = |(group, widths): (&&Group, &Vec<usize>)| {
        let cells: Vec<Cell> = group.heads.iter().map(|head| Cell::new(head, Tone::Dim)).collect();
        draw_cells(&cells, &group.left, widths, color)
    };
    text += &line(groups.iter().zip(&widths).map(head).collect());
    for index in 0..groups.first().map_or(0, |group| group.rows.len()) {
        let row = |(group, widths): (&&Group, &Vec<usize>)| draw_cells(&group.rows[index], &group.left, widths, color);
        text += &line(groups.iter().zip(&widths).map(row).collect());
    }
    text
}

fn draw_cells(cells: &[Cell], left: &[bool], widths: &[usize], color: bool) -> String {
    let draw = |((cell, &left), &width): ((&Cell, &bool), &usize)| {
        let code = match cell.tone {
            Tone::Plain => "",
            Tone::Dim => "2",
            Tone::Warn => "33",
            Tone::Bad => "1;31",
        };
        paint(&pad(&cell.text, width, left), code, color)
    };
    let drawn: Vec<String> = cells.iter().zip(left).zip(widths).map(draw).collect();
    drawn.join(&" ".repeat(BETWEEN_COLUMNS))
}

/// Wraps `text` in the terminal's colour `code`.
pub fn paint(text: &str, code: &str, color: bool) -> String {
    if color && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

fn pad(text: &str, width: usize, left: bool) -> String {
    let space = " ".repeat(width.saturating_sub(length(text)));
    if left { format!("{text}{space}") } else { format!("{space}{text}") }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + BETWEEN_COLUMNS * widths.len().saturating_sub(1)
}

fn length(text: &str) -> usize {
    text.chars().count()
}
