package main

import (
	"strings"

	"github.com/diagkit/diagkit/cmd/internal/manual"
	"github.com/spf13/cobra"
)

// exitMeanings explain the exit codes, for the manual.
var exitMeanings = []string{
	exitOK:     "The command succeeded.",
	exitFailed: "The command failed.",
	exitUsage:  "The command line, a setting or an input is not valid.",
	exitFaults: "An audit, diagd config check or diagd doctor found faults.",
}

// manualPages is what the manual says beside the help of the commands.
var manualPages = manual.Pages{
	Section: 8,
	Description: `diagd serves checks of DNS, mail and web set-ups as a metered HTTP API, with accounts, keys, prices,
invoices, notifications and a dashboard. Its commands administer the store of that server: most of them work while it
runs.

The first start creates an account and a key, and shows the secret and a link to the dashboard once.

Every option of diagd serve is also an environment variable and a line of the file of --config. An option on the command
line has precedence over the environment, and the environment over the file. diagd config check shows the value and
source of each, and diagd doctor checks the whole installation.`,
	Exits: exitMeanings,
	Chapters: []manual.Chapter{
		{Title: "ENVIRONMENT", Entries: []manual.Entry{
			{
				Term: "DIAG_LISTEN, DIAG_STORE, ...",
				Meaning: "The options of diagd serve, in capitals, with underscores for hyphens. Secrets belong here " +
					"rather than on the command line. A variable with an unknown name is an error.",
			},
			{
				Term: "GOMEMLIMIT, GOGC",
				Meaning: "Settings of Go's garbage collector. Without them diagd bounds its memory by that of the " +
					"machine or container.",
			},
		}},
		{Title: "FILES", Entries: []manual.Entry{
			{
				Term:    "/etc/diagd/diagd.conf",
				Meaning: "Settings of the service, a line key = value each.",
			},
			{
				Term: "/etc/diagd/secrets.env",
				Meaning: "Environment variables of the service, such as DIAG_STORE with a password. It should be " +
					"readable by root alone; systemd reads it.",
			},
			{
				Term:    "/var/lib/diagd/diag.db",
				Meaning: "The store of the service. Copy it with diagd backup.",
			},
			{Term: "diag.db", Meaning: "The store without --store, in the current folder."},
		}},
		{Title: "SIGNALS", Entries: []manual.Entry{
			{
				Term: "SIGTERM, SIGINT",
				Meaning: "Stop accepting requests, complete those that are running within 20 seconds, and exit. A " +
					"second signal ends the process immediately.",
			},
			{Term: "SIGHUP", Meaning: "Read the certificate and the lists of --data again."},
		}},
	},
	Related: []string{"diag (1)"},
	Examples: []manual.Entry{
		{Term: "diagd", Meaning: "Serve on 127.0.0.1:8080 with the store diag.db."},
		{
			Term:    "diagd --listen :443 --acme-domain diag.example.com",
			Meaning: "Serve by HTTPS with a certificate of Let's Encrypt.",
		},
		{
			Term:    "diagd key create --name ci --scopes dns:read,mail:read",
			Meaning: "Create a key and show its secret once.",
		},
		{Term: "diagd usage --month 2026-10", Meaning: "Show what the only account used in a month."},
		{
			Term:    "diagd backup /backups/diag.db",
			Meaning: "Copy the store while the server runs, and audit the copy.",
		},
		{
			Term:    "diagd doctor --config /etc/diagd/diagd.conf",
			Meaning: "Check the installation and say what to fix.",
		},
		{
			Term:    "systemctl enable --now diagd",
			Meaning: "Start the service of the package, now and after each boot.",
		},
	},
}

// examples are calls of the commands that run, by their names.
var examples = map[string]string{
	"account create":        `account create --name "Example Ltd" --plan agency`,
	"account list":          `account list --limit 100`,
	"account set":           `account set acc_… --plan pack`,
	"account show":          `account show acc_…`,
	"audit":                 `audit --head`,
	"backup":                `backup /backups/diag.db`,
	"billing charges":       `billing charges --month 2026-10 --csv`,
	"billing close":         `billing close --month 2026-10`,
	"billing credit":        `billing credit acc_… 2026-10 --cents 900 --reason "outage on 12 October"`,
	"billing finalize":      `billing finalize acc_… 2026-10`,
	"billing invoices":      `billing invoices --state failed`,
	"billing notes":         `billing notes --account acc_…`,
	"billing paid":          `billing paid acc_… 2026-10 --reference "bank transfer 4711" --reason "paid by bank"`,
	"billing preview":       `billing preview acc_…`,
	"billing resume":        `billing resume acc_… --reason "paid on 3 November"`,
	"billing retry":         `billing retry --failed`,
	"billing suspend":       `billing suspend acc_… --reason "invoice 2026-09 is overdue"`,
	"billing uncollectible": `billing uncollectible acc_… 2026-10 --reason insolvency`,
	"billing void":          `billing void acc_… 2026-10 --reissue --reason "wrong tax rate"`,
	"channel confirm":       `channel confirm chn_… 123456`,
	"channel create":        `channel create --name ops --target https://hooks.example.com/diag`,
	"channel deliveries":    `channel deliveries chn_… --limit 20`,
	"channel disable":       `channel disable chn_…`,
	"channel enable":        `channel enable chn_…`,
	"channel list":          `channel list`,
	"channel remove":        `channel remove chn_…`,
	"channel replay":        `channel replay chn_… --since 2026-11-26T09:00:00Z`,
	"channel rotate":        `channel rotate chn_… --overlap 24h`,
	"channel test":          `channel test chn_…`,
	"config check":          `config check --config /etc/diagd/diagd.conf`,
	"data list":             `data list --data /etc/diagd/data`,
	"data show":             `data show dnsbl.json`,
	"doctor":                `doctor --config /etc/diagd/diagd.conf`,
	"health":                `health --url http://127.0.0.1:8080`,
	"key create":            `key create --name ci --scopes dns:read,mail:read --expires-in 2160h`,
	"key list":              `key list --account acc_…`,
	"key revoke":            `key revoke key_… --reason "found in a public repository"`,
	"key rotate":            `key rotate key_… --grace 24h`,
	"log":                   `log --account acc_… --limit 20`,
	"mail key":              `mail key --mail-dkim-domain example.com`,
	"mail test":             `mail test postmaster@example.org --config /etc/diagd/diagd.conf`,
	"member add":            `member add ada@example.com --role owner`,
	"member link":           `member link ada@example.com --public-url https://diag.example.com`,
	"member list":           `member list --account acc_…`,
	"member remove":         `member remove ada@example.com`,
	"member role":           `member role ada@example.com --role owner`,
	"migrate":               `migrate --store sqlite:/var/lib/diagd/diag.db`,
	"openapi":               `openapi > openapi.json`,
	"plan import":           `plan import plans.json --from 2027-01`,
	"plan list":             `plan list`,
	"restore":               `restore /backups/diag.db`,
	"serve":                 `serve --config /etc/diagd/diagd.conf`,
	"spf create":            `spf create --key key_… --domain example.com --spf-dns-zone spf.example.net`,
	"spf ds":                `spf ds --spf-dns-key /etc/diagd/Kspf.example.net.+013+12345.private`,
	"spf key":               `spf key --spf-dns-zone spf.example.net --dir /etc/diagd`,
	"spf list":              `spf list --domain example.com`,
	"spf pause":             `spf pause spf_…`,
	"spf remove":            `spf remove spf_…`,
	"spf resolve":           `spf resolve spf_…`,
	"spf resume":            `spf resume spf_…`,
	"spf show":              `spf show spf_…`,
	"usage":                 `usage --month 2026-10`,
	"version":               `version --json`,
	"watch create":          `watch create example.com --checks mail,dns --every 1h`,
	"watch history":         `watch history example.com`,
	"watch list":            `watch list`,
	"watch remove":          `watch remove example.com`,
	"watch run":             `watch run example.com`,
	"watch set":             `watch set example.com --channels chn_…`,
	"watch show":            `watch show example.com`,
}

// addExamples shows them in the help of the commands and in the manual.
func addExamples(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		name := strings.TrimPrefix(c.CommandPath(), "diagd ")
		if text := examples[name]; text != "" {
			c.Example = "  diagd " + text
		}
		addExamples(c)
	}
}
