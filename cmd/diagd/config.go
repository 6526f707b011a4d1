package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// secretSetting finds the names of settings that are never shown.
var secretSetting = kit.Regexp(`secret|password|token|tsig|stripe-key`)

type configView struct {
	Settings []settingView      `json:"settings"`
	Faults   []settingFaultView `json:"faults"`
}

type settingView struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func (a *app) configCommand() *cobra.Command {
	var check *cobra.Command
	check = newCommand("check", "Report all faults of the settings, and their values", "",
		func(context.Context, []string) error { return a.checkConfig(check.Flags()) })
	check.Long = `Report all faults of the settings, and the value and source of each setting.

It uses the flags, the environment and the configuration file of diagd serve, reads the files that they name, and writes
nothing. Secrets are not shown. The exit code is 3 if there are faults.`
	check.PersistentPreRunE = func(*cobra.Command, []string) error { return nil } // the command reports the faults
	a.serving.add(check.Flags())
	a.world.Add(check.Flags())
	return a.newGroup("config", "Check the settings", check)
}

func (a *app) settingFaults(flags *pflag.FlagSet) []error {
	err := a.readSettings(flags)
	_, flagErr := a.checkFlags()
	_, release, envErr := a.world.Env()
	if envErr == nil {
		release()
	}
	return append(splitErrors(errors.Join(err, flagErr, envErr)), a.checkLocations()...)
}

func (a *app) checkConfig(flags *pflag.FlagSet) error {
	faults := a.settingFaults(flags)
	v := configView{[]settingView{}, []settingFaultView{}}
	var secrets []string
	settingFlags().VisitAll(func(s *pflag.Flag) {
		f := flags.Lookup(s.Name)
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for i, value := range values {
			values[i] = redact(s.Name, strings.TrimSpace(value), &secrets)
		}
		v.Settings = append(v.Settings, settingView{s.Name, strings.Join(values, ", "), cmp.Or(a.origins[s.Name], "default")})
	})
	for _, err := range faults {
		fault := a.settingFault(flags, err)
		for _, secret := range secrets {
			fault.Fault = strings.ReplaceAll(fault.Fault, secret, redacted)
		}
		v.Faults = append(v.Faults, fault)
	}
	err := a.print(v, func(t *table) {
		rows("SETTING, VALUE, FROM", v.Settings, func(s settingView) []any { return []any{s.Name, s.Value, s.Source} })(t)
		for _, f := range v.Faults {
			t.row()
			t.row("FAULT  " + f.Source + ": " + f.Fault)
			t.row("       " + f.Remedy)
		}
	})
	if err == nil && len(v.Faults) > 0 {
		return fmt.Errorf("%w (%d)", errConfig, len(v.Faults))
	}
	return err
}

// checkLocations checks what starting would otherwise be the first to find out: addresses, and the folder of the store.
func (a *app) checkLocations() (faults []error) {
	for flag, address := range map[string]string{
		"listen": a.serving.listen, "metrics-listen": a.serving.metricsListen, "spf-dns-listen": a.serving.hosted.listen,
		"callback-listen": a.serving.maintenance.callbackListen,
	} {
		if _, err := net.ResolveTCPAddr("tcp", address); address != "" && err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	kind, place, err := a.parseStore()
	if err != nil {
		return append(faults, err)
	}
	if kind == "sqlite" {
		dir := filepath.Dir(place)
		if info, err := os.Stat(dir); err != nil {
			faults = append(faults, fmt.Errorf("--store: %w", err))
		} else if !info.IsDir() {
			faults = append(faults, fmt.Errorf("--store: %s is not a folder", dir))
		}
	}
	return faults
}

// splitErrors returns the faults that were joined.
func splitErrors(err error) (faults []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case ok:
		for _, err := range joined.Unwrap() {
			faults = append(faults, splitErrors(err)...)
		}
	case err != nil:
		faults = append(faults, err)
	}
	return faults
}

// flagName finds the setting that a fault begins with.
var flagName = kit.Regexp(`^--([a-z-]+)`)

// settingFault returns where the setting at fault is set, and what to do.
func (a *app) settingFault(flags *pflag.FlagSet, err error) settingFaultView {
	if e, ok := errors.AsType[*settingFaultView](err); ok {
		return *e
	}
	v := settingFaultView{Source: "the settings", Fault: err.Error(), Remedy: "diagd serve --help explains the settings"}
	if name := flagName().FindStringSubmatch(v.Fault); name != nil && flags.Lookup(name[1]) != nil {
		v.Setting, v.Source = name[1], cmp.Or(a.origins[name[1]], "default of --"+name[1])
		v.Remedy = flagPurpose(flags.Lookup(name[1]))
		v.Fault = strings.TrimPrefix(v.Fault, "--"+name[1]+": ") // which the source names
	}
	return v
}

const redacted = "(not shown)"

// secretParameter finds the parameters of URLs in which drivers take passwords.
var secretParameter = kit.Regexp(`(?i)pass|secret|token|key`)

// redactedStore returns the name of the store in --store, without its secrets.
func (a *app) redactedStore() string { return redact("store", a.store, new([]string)) }

// redact returns a value without its secrets, which it collects.
func redact(name, value string, secrets *[]string) string {
	if secretSetting().MatchString(name) && value != "" {
		*secrets = append(*secrets, value)
		return redacted
	}
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		*secrets = append(*secrets, value)
		return redacted
	}
	hide := func(secret string) {
		if secret != "" {
			*secrets = append(*secrets, secret)
			value = strings.ReplaceAll(value, secret, redacted)
		}
	}
	_, after, _ := strings.Cut(value, "://")
	user, _, hasUser := strings.Cut(after, "@")       // as it is written, for the URL holds it decoded
	if hasUser && u.User == nil || u.Fragment != "" { // parts of a mistyped URL may be those of a password
		*secrets = append(*secrets, value)
		return redacted
	}
	if _, password, ok := strings.Cut(user, ":"); hasUser && ok {
		hide(password)
	}
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		if name, secret, _ := strings.Cut(parameter, "="); secretParameter().MatchString(name) {
			hide(secret)
		}
	}
	return value
}
