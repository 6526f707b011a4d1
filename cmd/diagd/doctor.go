package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/metering"
)

// condition is the state of a part of the installation.
type condition string

// The conditions.
const (
	conditionOK      condition = "ok"
	conditionWarning condition = "warning" // it works, and something should be done
	conditionFault   condition = "fault"   // it does not work
	conditionUnknown condition = "unknown" // it could not be found out
	conditionOff     condition = "off"     // it is not in use
)

type partView struct {
	Part      string    `json:"part"`
	Condition condition `json:"condition"`
	Detail    string    `json:"detail"`
	Remedy    string    `json:"remedy,omitempty"`
}

type doctorView struct {
	Parts []partView `json:"parts"`
}

// errDoctor is the result of an examination, not a failure of it.
var errDoctor = errors.New("the check found faults")

const partTime = 10 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var cmd *cobra.Command
	cmd = newCommand("doctor", "Check the installation and say what to fix", "",
		func(ctx context.Context, _ []string) error { return a.doctor(ctx, cmd.Flags()) })
	cmd.Long = `Check the installation and say what to fix: settings, server, store, clock, queues, backup, audit, certificate, lists,
resolver, the signature of mail, and the delegation of the hosted SPF zone.

Run it on the machine of the server and with its settings: flags, environment and configuration file of diagd serve. It
queries the server, the store, the resolver and, for hosted SPF, the DNS. The exit code is 3 if something does not work.`
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return nil } // the command reports the faults
	a.addJSON(cmd)
	a.serving.add(cmd.Flags())
	a.world.Add(cmd.Flags())
	return cmd
}

func (a *app) doctor(ctx context.Context, flags *pflag.FlagSet) error {
	v := doctorView{a.examine(ctx, flags)}
	err := a.print(v, func(t *table) {
		for _, p := range v.Parts {
			mark := string(p.Condition)
			if p.Condition == conditionWarning || p.Condition == conditionFault {
				mark = strings.ToUpper(mark)
			}
			t.row(mark, p.Part, p.Detail)
			if p.Remedy != "" {
				t.row("", "", "→ "+p.Remedy)
			}
		}
	})
	faults := slices.DeleteFunc(slices.Clone(v.Parts), func(p partView) bool { return p.Condition != conditionFault })
	if err == nil && len(faults) > 0 {
		return fmt.Errorf("%w (%d)", errDoctor, len(faults))
	}
	return err
}

// examine checks all parts, each within a time of its own.
func (a *app) examine(ctx context.Context, flags *pflag.FlagSet) (parts []partView) {
	check := func(name string, examination func(context.Context) partView) {
		limited, cancel := context.WithTimeout(ctx, partTime)
		defer cancel()
		p := examination(limited)
		p.Part = name
		parts = append(parts, p)
	}
	check("settings", func(context.Context) partView { return a.examineSettings(flags) })
	check("server", a.examineServer)
	a.examining = true
	opening, cancel := context.WithTimeout(ctx, partTime)
	store, _, err := a.openStore(opening, true)
	cancel()
	check("store", func(context.Context) partView { return a.examineStore(err) })
	if err == nil {
		defer store.Close()
		check("clock", func(context.Context) partView { return a.examineClock(store) })
		check("queues", func(ctx context.Context) partView { return a.examineQueues(ctx, store) })
	}
	check("backup", func(context.Context) partView {
		return a.examineTask(backupTask, backupAge, "run diagd backup FILE")
	})
	check("audit", func(context.Context) partView { return a.examineTask(auditTask, auditAge, "run diagd audit") })
	check("certificate", func(context.Context) partView { return a.examineCertificate() })
	check("lists", func(context.Context) partView { return a.examineLists() })
	env, release, err := a.world.Env()
	if err != nil {
		return parts // which is a fault of the settings
	}
	defer release()
	check("resolver", func(ctx context.Context) partView { return examineResolver(ctx, env) })
	check("mail", func(ctx context.Context) partView { return a.examineMail(ctx, env) })
	check("hosted SPF", func(ctx context.Context) partView { return a.examineZone(ctx, env) })
	return parts
}

func okPart(format string, args ...any) partView {
	return partView{Condition: conditionOK, Detail: fmt.Sprintf(format, args...)}
}

func offPart(detail string) partView { return partView{Condition: conditionOff, Detail: detail} }

// faultyPart returns a part that needs action.
func faultyPart(c condition, remedy, format string, args ...any) partView {
	return partView{Condition: c, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (a *app) examineSettings(flags *pflag.FlagSet) partView {
	if n := len(a.settingFaults(flags)); n > 0 {
		return faultyPart(conditionFault, "run diagd config check", "faults: %d", n)
	}
	return okPart("no faults")
}

func (a *app) examineServer(ctx context.Context) partView {
	if err := a.health(ctx); err != nil {
		if _, usage := errors.AsType[usageError](err); usage {
			return faultyPart(conditionUnknown, "", "%v", err)
		}
		return faultyPart(conditionFault, "start the server, or use the settings that it runs with", "%v", err)
	}
	if a.serving.metricsListen == "" {
		return faultyPart(conditionWarning, "set --metrics-listen for /readyz and metrics",
			"responds; its readiness is unknown")
	}
	return okPart("responds, and is ready")
}

func (a *app) examineStore(err error) partView {
	if err == nil {
		return okPart("%s can be read", a.redactedStore())
	}
	if kind, _, e := a.parseStore(); e == nil && kind == "memory" {
		return faultyPart(conditionWarning, "name a persistent store with --store",
			"in memory: it is lost when the server stops")
	}
	return faultyPart(conditionFault,
		"diagd serve creates a store at its first start, and updates an old one, as diagd migrate does",
		"%v", err)
}

// examineClock compares the clock with the times in the store.
func (a *app) examineClock(store metering.Store) partView {
	keeper := &metering.Timekeeper{Clock: a.wall}
	keeper.Follow(store)
	if err := keeper.Doubt(); err != nil {
		return faultyPart(conditionFault,
			"synchronize it by NTP: until then no month is closed and no expired data is removed", "%v", err)
	}
	return okPart("agrees with the store")
}

// examineResolver queries a name that every resolver knows.
func examineResolver(ctx context.Context, env *diag.Env) partView {
	began := time.Now()
	if _, err := env.DNS().Exchange(ctx, dnsmsg.Question(".", dns.TypeSOA, false)); err != nil {
		return faultyPart(conditionFault, "name other resolvers with --resolver", "does not answer: %v", err)
	}
	return okPart("answers in %d ms", time.Since(began).Milliseconds())
}
