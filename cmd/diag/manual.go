package main

import "github.com/diagkit/diagkit/cmd/internal/manual"

// exitMeanings explain the exit codes.
var exitMeanings = []string{
	exitOK:         "No finding is as severe as --fail-on (default: error).",
	exitFinding:    "A finding has that severity or a higher one.",
	exitUsage:      "The command line or an input is not valid.",
	exitIncomplete: "The check could not be completed, or the output not be written.",
	exitPartial:    "A part could not be checked; the rest has no such finding.",
}

// manualPages is what the manual says beside the help of the commands.
var manualPages = manual.Pages{
	Section: 1,
	Description: `diag checks a domain, an address, a URL, a file or a record, and says what is wrong and how to fix it.
A domain alone runs every check that needs no more, and prints one screen.

The name of a single check is its path in the API, such as spf/lookup, or a short name, such as spf. For {id} in a
name, the id goes into its place, or follows the name as an argument. An argument - denotes standard input. The syntax
of dig, host and nslookup is also accepted.

Checks run on this machine, or with --server at a server that runs diagd.`,
	Exits: exitMeanings,
	Chapters: []manual.Chapter{
		{Title: "ENVIRONMENT", Entries: []manual.Entry{
			{Term: "DIAG_SERVER", Meaning: "The default of --server."},
			{
				Term:    "DIAG_KEY",
				Meaning: "The default of --key, which other users of the machine cannot read here.",
			},
			{
				Term:    "NO_COLOR",
				Meaning: "If it is set to anything, output is without color, unless --color is always.",
			},
			{
				Term:    "LC_ALL, LC_CTYPE, LANG",
				Meaning: "The locale. If it is not one of UTF-8, output to a terminal is ASCII.",
			},
		}},
	},
	Related: []string{"diagd (8)"},
	Examples: []manual.Entry{
		{
			Term:    "diag example.com",
			Meaning: "Check everything about a domain: mail, DNS, web, registration, blocklists.",
		},
		{
			Term:    "diag example.com --plan",
			Meaning: "Print what to change, in order, and the result of each step.",
		},
		{
			Term:    "diag example.com --zone example.com.zone",
			Meaning: "Preview a zone file before it is published.",
		},
		{Term: "diag spf example.com", Meaning: "Run one check. diag --help lists all."},
		{Term: "diag 'v=spf1 mx -all'", Meaning: "Check a record before it is published."},
		{
			Term:    "diag message.eml",
			Meaning: "Examine a message, report, certificate, signing request or QR code.",
		},
		{
			Term:    "diag MX example.com @9.9.9.9 --short",
			Meaning: "Send a DNS query with the syntax of dig, and print only the answer.",
		},
		{
			Term:    "diag -f domains.txt --jsonl --output run.jsonl",
			Meaning: "Check a list of domains, and write one line of JSON each.",
		},
		{
			Term:    "diag example.com --only mail --junit --fail-on warning",
			Meaning: "Report to a CI server. The exit code is 1 if there is a warning or worse.",
		},
		{Term: "diag explain spf.lookups.exceeded", Meaning: "Explain a finding and how to fix it."},
	},
}
