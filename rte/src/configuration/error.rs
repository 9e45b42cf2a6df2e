// SPDX-License-Identifier: Apache-2.0
//! One line for what is wrong in a file.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;

/// Which file, which line, what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Of a whole file.
    pub fn new(path: &Path, what: &str) -> Self {
        Self(format!("{}: {what}", path.display()))
    }
}

/// A file's name and text, to find lines in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub path: &'a Path,
    /// What is in it.
    pub text: &'a str,
}

impl Place<'_> {
    /// The line of a value is wrong.
    pub fn at<T>(&self, value: &Spanned<T>, what: &str) -> Error {
        self.span(value.span(), what)
    }

    /// What the parser found wrong.
    pub fn toml(&self, error: &toml::de::Error) -> Error {
        self.span(error.span().unwrap_or(0..0), error.message().trim().replace('\n', ", ").as_str())
    }

    fn span(&self, span: Range<usize>, what: &str) -> Error {
        let line = self.text[..span.start.min(self.text.len())].matches('\n').count() + 1;
        Error(format!("{}:{line}: {what}", self.path.display()))
    }
}
