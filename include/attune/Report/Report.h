//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// SessionReport in the forms that people and programs read.

#ifndef ATTUNE_REPORT_REPORT_H
#define ATTUNE_REPORT_REPORT_H

#include "attune/Report/SessionReport.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace attune {

/// `12.3 µs`, `4.56 ms`, `1.23 s`: three digits; `-` for nothing measured.
std::string formatSeconds(double seconds);
/// `1.23x`.
std::string formatSpeedup(double speedup);
/// `12.3 %` of a fraction.
std::string formatShare(double fraction);

/// `text` in at most `columns` columns of a terminal, ending in an ellipsis if
/// it had more; one line, without control characters.
std::string fitText(llvm::StringRef text, size_t columns);
/// Columns that `text` takes in a terminal.
size_t textWidth(llvm::StringRef text);

/// summary.json, docs/formats.md; version 1.
llvm::json::Value summaryJSON(const SessionReport &report);

/// The table at the end of `attune tune`: a line a dispatch, by share of time,
/// at most 100 columns.
void printTable(const SessionReport &report, llvm::raw_ostream &out);
/// The lines after it: the program before and after, agreement, the folder.
void printClosing(const SessionReport &report, llvm::raw_ostream &out);

/// report.html: one file, asks nothing of the network, no script needed.
void printHTML(const SessionReport &report, llvm::raw_ostream &out);

/// log.txt: a header, a block a dispatch, a summary. Under 1 MB for any report.
void printLog(const SessionReport &report, llvm::raw_ostream &out);

/// log.jsonl: the same for programs, an object a line: `session`, then a
/// `dispatch` and its `failure`s for each, `summary`. Under 1 MB for any
/// report.
void printLogLines(const SessionReport &report, llvm::raw_ostream &out);

/// Writes log.txt and log.jsonl alone, as a session that is running does.
llvm::Error writeLog(const SessionReport &report, llvm::StringRef folder);

/// Writes summary.json, report.html, log.txt and log.jsonl into `folder`, each
/// first under another name, then renamed.
llvm::Error writeReport(const SessionReport &report, llvm::StringRef folder);

/// Reads what writeReport wrote: `attune report DIR` prints the table again.
llvm::Expected<SessionReport> readSummary(llvm::StringRef path);

} // namespace attune

#endif // ATTUNE_REPORT_REPORT_H
