// SPDX-License-Identifier: Apache-2.0
//! What is wrong with the input, where, and what would be right.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// More problems than this are counted, not shown: nobody reads them before the first are mended.
const PROBLEMS_SHOWN_MAX: usize = 20;

/// More problems than this are not kept: they are compared with one another.
const PROBLEMS_MAX: usize = 200;

/// A stretch of one of the texts that were read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index into the report's texts; 0 is the scenario file, the others are options of the command line.
    pub text: usize,
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl Place {
    /// The given bytes of a text.
    pub fn new(text: usize, span: Range<usize>) -> Self {
        Self { text, start: span.start, end: span.end }
    }
}

/// A text that was read.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Name of the file, or where else it comes from.
    pub name: String,
    /// What it says.
    pub content: String,
    /// Whether a line number means something in it.
    pub is_file: bool,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The run is made, but probably does not show what was meant.
    Warning,
}

/// One problem of the input.
#[derive(Debug, Clone)]
pub struct Problem {
    severity: Severity,
    message: String,
    place: Option<Place>,
    label: String,
    help: Option<String>,
}

impl Problem {
    /// A reason to refuse the input.
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    /// Something the user should know.
    pub(super) fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Self { severity, message, place: None, label: String::new(), help: None }
    }

    /// Points at the words that are wrong, with a remark on them.
    pub(super) fn at(mut self, place: &Place, label: impl Into<String>) -> Self {
        self.place = Some(place.clone());
        self.label = label.into();
        self
    }

    /// Says what would be right.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Error or warning.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The remark on the place pointed at.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What would be right.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// Collects problems while the input is read.
#[derive(Debug, Default)]
pub(super) struct Sink {
    problems: RefCell<Vec<Problem>>,
}

impl Sink {
    /// Notes a problem, once: every case of a sweep finds the same ones in what the cases have in common.
    pub fn push(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        let is_known = problems.iter().any(|known| known.message == problem.message && known.place == problem.place);
        if !is_known && problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
    }

    /// Whether the input has to be refused.
    pub fn has_errors(&self) -> bool {
        self.problems.borrow().iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether nothing more is kept.
    pub fn is_full(&self) -> bool {
        self.problems.borrow().len() >= PROBLEMS_MAX
    }

    /// Everything found, in the order of the texts.
    pub fn into_report(self, texts: Vec<Text>) -> Report {
        let mut problems = self.problems.into_inner();
        problems.sort_by(|a, b| a.place.cmp(&b.place));
        Report { texts, problems }
    }
}

/// Problems together with the texts they point into. Its `Display` is plain text.
#[derive(Debug, Clone)]
pub struct Report {
    texts: Vec<Text>,
    problems: Vec<Problem>,
}

impl Report {
    /// The problems, in the order of the file; those of the command line last.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Line and column of a problem in the scenario file, counted from 1; `None` if it is not in the file.
    pub fn line_column(&self, problem: &Problem) -> Option<(usize, usize)> {
        let place = problem.place.as_ref()?;
        let text = self.texts.get(place.text).filter(|text| text.is_file)?;
        let before = text.content.get(..place.start)?;
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// As text for people, with the lines concerned; `styled` adds the terminal's colours.
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(PROBLEMS_SHOWN_MAX);
        let mut parts: Vec<String> = shown.map(|problem| renderer.render(&[self.group(problem)])).collect();
        if self.problems.len() > PROBLEMS_SHOWN_MAX {
            parts.push(format!("and {} more", self.problems.len() - PROBLEMS_SHOWN_MAX));
        }
        parts.join("\n\n")
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(problem.message.as_str());
        let group = match &problem.place {
            Some(place) => title.element(self.snippet(place, &problem.label)),
            None => title.element(Origin::path(self.texts.first().map_or("", |text| text.name.as_str()))),
        };
        match &problem.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }

    fn snippet<'a>(&'a self, place: &Place, label: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let text = &self.texts[place.text];
        let annotation = AnnotationKind::Primary.span(place.start..place.end);
        let annotation = if label.is_empty() { annotation } else { annotation.label(label) };
        Snippet::source(text.content.as_str())
            .path(text.name.as_str())
            .line_numbering(text.is_file)
            .annotation(annotation)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}
