// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table on a terminal, which may be a serial line. `q` and Ctrl-C end it.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};

use super::sample::Sample;
use super::table::{line, Table, HEAD};
use crate::machine::Machine;
use crate::Failure;

/// Shows the table until it is told to end.
pub(super) fn run(
    machine: &Machine,
    first: Sample,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), Failure> {
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let result = show(&mut terminal, machine, first, interval, count);
    ratatui::restore();
    result
}

fn show(
    terminal: &mut DefaultTerminal,
    machine: &Machine,
    mut before: Sample,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), Failure> {
    let mut table = Table::new(&before, &before);
    let mut looks = 0;
    loop {
        terminal.draw(|frame| draw(frame, &table)).map_err(failed)?;
        if count.is_some_and(|count| looks >= count) || !waits(before.at + interval)? {
            return Ok(());
        }
        if Instant::now() < before.at + interval {
            // The terminal has another size.
            continue;
        }
        let now = Sample::take(machine)?;
        table = Table::new(&before, &now);
        before = now;
        looks += 1;
    }
}

/// Waits for the next look, or until there is something to draw; `false` when it is to end.
fn waits(until: Instant) -> Result<bool, Failure> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if !event::poll(left).map_err(failed)? {
            return Ok(true);
        }
        match event::read().map_err(failed)? {
            Event::Key(key) if key.code == KeyCode::Char('q') => return Ok(false),
            Event::Key(key)
                if key.code == KeyCode::Char('c')
                    && key.modifiers.contains(KeyModifiers::CONTROL) =>
            {
                return Ok(false)
            }
            Event::Resize(..) => return Ok(true),
            _ => {}
        }
    }
}

fn draw(frame: &mut Frame<'_>, table: &Table) {
    let [above, head, rows, below] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(table.summary.as_str()), above);
    let title = Line::from(line(&HEAD)).style(Style::new().reversed());
    frame.render_widget(title, head);
    let shown = usize::from(rows.height);
    let lines: Vec<Line<'_>> = table
        .rows
        .iter()
        .take(shown)
        .map(|row| Line::from(line(row)))
        .collect();
    frame.render_widget(Text::from(lines), rows);
    let hidden = table.rows.len().saturating_sub(shown);
    let note = match hidden {
        0 => "q ends".into(),
        hidden => format!("q ends; {hidden} more"),
    };
    frame.render_widget(Line::from(note).dim(), below);
}

fn failed(error: std::io::Error) -> Failure {
    Failure::File {
        path: "the terminal".into(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::sample;
    use super::*;
    use ratatui::backend::TestBackend;
    use ratatui::Terminal;

    fn drawn(width: u16, height: u16) -> Vec<String> {
        let at = Instant::now();
        let (before, now) = (
            sample(at, 0, 0),
            sample(at + Duration::from_secs(1), 50, 51),
        );
        let table = Table::new(&before, &now);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &table)).unwrap();
        let cells = terminal.backend().buffer().content();
        let rows = cells.chunks(usize::from(width));
        let text = |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect();
        rows.map(text)
            .map(|row: String| row.trim_end().into())
            .collect()
    }

    #[test]
    fn a_terminal_of_80_columns_has_all_of_it() {
        let rows = drawn(80, 24);
        assert!(rows[1].starts_with("50.0 packets/s, 25.0 interrupts/s"));
        assert!(rows[3].starts_with("PROCESS  NAME"));
        assert!(
            rows[4].starts_with("7        a long name in"),
            "{}",
            rows[4]
        );
        assert_eq!(rows[23], "q ends");
    }

    #[test]
    fn a_small_one_says_what_it_leaves_out() {
        let rows = drawn(30, 6);
        assert_eq!(rows[5], "q ends; 2 more");
        drawn(1, 1);
    }
}
