package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/billing"
	"github.com/spf13/cobra"
)

type auditView struct {
	Accounts int                   `json:"accounts_count"`
	Entries  int64                 `json:"entries_count"`
	Credits  int64                 `json:"credits"`
	Unproven int64                 `json:"unproven_count"`     // entries that no chain proves
	Invoices *auditedInvoices      `json:"invoices,omitempty"` // absent where none were read
	Against  *againstView          `json:"against,omitempty"`
	Faults   []metering.AuditFault `json:"faults"`
}

type auditedInvoices struct {
	Count    int `json:"count"`
	Unproven int `json:"unproven_count"` // older than the notes that would prove them
}

func (a *app) auditCommand() *cobra.Command {
	var head bool
	var against string
	cmd := a.newStoreCommand("audit", "Verify that ledger, balances and invoices agree", "",
		func(ctx context.Context, admin metering.Admin, _ []string) error {
			earlier, err := readHead(against)
			if err != nil {
				return err
			}
			b := billing.Billing{Store: admin.Store, Plans: admin.Plans, Clock: admin.Clock}
			if head {
				return a.printHead(ctx, b)
			}
			audit, err := admin.Store.Audit(ctx)
			if err != nil {
				return err
			}
			invoices, err := b.Audit(ctx)
			if err != nil {
				return err
			}
			v := newAuditView(audit)
			v.Invoices = &auditedInvoices{invoices.Invoices, invoices.Unproven}
			v.Faults = append(v.Faults, invoices.Faults...)
			if against != "" {
				if err := v.compareHead(ctx, b, earlier, admin.Time()); err != nil {
					return err
				}
			}
			a.recordRun(auditTask, len(v.Faults))
			return a.showAuditView(v)
		})
	appendLong(
		cmd,
		`With --head it prints a proof of all charges and invoices instead, to be stored elsewhere; with --against it also
verifies that nothing in such a proof has changed. The exit code is 3 if something does not agree, and 1 if it could not
be compared.`,
	)
	a.addJSON(cmd)
	cmd.Flags().BoolVar(&head, "head", false, "print a proof of all charges and invoices as JSON, to be stored elsewhere")
	cmd.Flags().StringVar(&against, "against", "", "file with such a proof: check that nothing in it has changed")
	return cmd
}

func newAuditView(audit metering.Audit) auditView {
	return auditView{Accounts: audit.Accounts, Entries: audit.Entries, Credits: audit.Credits, Unproven: audit.Unproven,
		Faults: append([]metering.AuditFault{}, audit.Faults...)}
}

func (v auditView) rows(t *table) {
	t.row(phrase.Count(v.Credits, "credit") + " in " + phrase.Count(v.Entries, "charge") + " of " +
		phrase.Count(v.Accounts, "account"))
	if v.Unproven > 0 {
		t.row(fmt.Sprintf("%d charges are not proven by a chain: they are older than the chain, or a part of their "+
			"month was pruned", v.Unproven))
	}
	if v.Against != nil {
		for _, p := range v.Against.Pruned {
			t.row(fmt.Sprintf("%v cannot be compared with the head: some of its charges were pruned"+
				"", p))
		}
	}
	if i := v.Invoices; i != nil && i.Unproven > 0 {
		t.row(fmt.Sprintf("%d of %d invoices are older than their proofs", i.Unproven, i.Count))
	}
	for _, f := range v.Faults {
		t.row("FAULT", f.Account, f.Period, f.Detail)
	}
}

func (a *app) showAudit(audit metering.Audit) error { return a.showAuditView(newAuditView(audit)) }

func (a *app) showAuditView(v auditView) error {
	err := a.print(v, v.rows)
	if err == nil && len(v.Faults) > 0 {
		return fmt.Errorf("%w (%d)", errFaults, len(v.Faults))
	}
	return err
}

type headView struct {
	Version string `json:"schema_version"`
	metering.Head
	Invoices *billing.Head `json:"invoices,omitempty"` // absent from heads of earlier versions
}

// headVersion is the form of heads that this program writes and reads.
const headVersion = "1"

func (a *app) printHead(ctx context.Context, b billing.Billing) error {
	head, err := metering.ReadHead(ctx, b.Store, 0)
	if err != nil {
		return err
	}
	invoices, err := b.ReadHead(ctx, time.Time{})
	if err != nil {
		return err
	}
	a.json = true
	return a.print(headView{headVersion, head, &invoices}, nil)
}

// readHead reads what printHead wrote, if there is a file.
func readHead(path string) (v headView, err error) {
	if path == "" {
		return v, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return v, fmt.Errorf("--against: %w", err)
	}
	if err := json.Unmarshal(data, &v); err != nil || v.Version != headVersion {
		return v, usagef("--against: %s was not written by diagd audit --head", path)
	}
	return v, nil
}

type againstView struct {
	Seq int64 `json:"seq"`
	metering.Comparison
}

func (v *auditView) compareHead(ctx context.Context, b billing.Billing, head headView, now time.Time) error {
	c, err := head.Compare(ctx, b.Store, now)
	if err != nil {
		return err
	}
	v.Against = &againstView{head.Seq, c}
	for _, p := range c.Changed {
		v.Faults = append(v.Faults, metering.AuditFault{
			Period: p, Detail: fmt.Sprintf("the charges up to number %d differ from the head", head.Seq),
		})
	}
	if head.Invoices == nil {
		return nil
	}
	same, err := head.Invoices.Matches(ctx, b)
	if err == nil && !same {
		v.Faults = append(v.Faults, metering.AuditFault{
			Detail: fmt.Sprintf("the notes of invoices from before %s differ from the head", formatTime(&head.Invoices.Before)),
		})
	}
	return err
}
