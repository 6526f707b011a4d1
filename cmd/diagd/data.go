package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/propagation"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/webcheck/csr"
	"github.com/diagkit/diagkit/webcheck/hsts"
	"github.com/diagkit/diagkit/webcheck/phishing"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/spf13/cobra"
)

// lists are the built-in lists that a file in --data replaces.
var lists = map[string]struct {
	purpose string
	builtIn func() []byte
	check   func([]byte) error // of a file that replaces it
	secret  bool               // such a file is not shown
}{
	plansFile: {"plans that the first start imports into the store; diagd plan list shows those in force",
		func() []byte { return formatPlans(metering.DefaultPlans()) }, checkByParsing(parsePlans), false},
	dnsbl.File: {
		"blocklists and allow lists that blacklist/ip queries",
		dnsbl.BuiltIn,
		checkByParsing(dnsbl.ParseLists),
		false,
	},
	dnsbl.KeysFile: {"keys of blocklists that need one, by name of account", constant("{}\n"), dnsbl.CheckKeys, true},
	hsts.File: {"HSTS preload list that http/hsts-check and http/headers-check look domains up in",
		hsts.NoList, checkByParsing(hsts.ParseList), false},
	markcert.RootsFile: {"root certificates of the authorities for mark certificates",
		markcert.BuiltInRoots, checkByParsing(markcert.ParseRoots), false},
	propagation.File: {"resolvers that resolve/propagation queries",
		func() []byte { return formatJSON(propagation.Vantages()) }, checkByParsing(propagation.ParseVantages), false},
	tlscert.LogsFile: {"logs of Certificate Transparency, in the form of Google's log_list.json",
		markcert.BuiltInLogs, tlscert.CheckLogs, false}, // those of mark certificates
	phishing.TargetsFile: {"brands that phishing/check protects, with their own domains",
		phishing.BuiltInTargets, phishing.CheckTargets, false},
	registry.BootstrapFile: {"RDAP services of domains, addresses and AS numbers",
		func() []byte { return formatJSON(registry.DefaultBootstrap()) }, checkByParsing(registry.ParseBootstrap), false},
	registry.ServersFile: {"WHOIS servers by suffix",
		func() []byte { return formatJSON(registry.DefaultServers()) }, checkByParsing(registry.ParseServers), false},
	csr.KeyListFile: {"compromised keys, and moduli that share factors, for certificates/csr/parse",
		constant("{\"lists\": []}\n"), checkByParsing(pki.ParseKeyList), false},
	csr.KeyHashesFile: {"the same as SHA-256 of each SubjectPublicKeyInfo, one a line", constant(""),
		func(data []byte) error { _, err := pki.ParseKeyHashes(csr.KeyHashesFile, data); return err }, false},
	csr.KeyTableFile: {
		"the same in the binary form of badkeys (its file blocklist.dat)",
		constant(""),
		csr.CheckTable,
		false,
	},
	csr.KeyNamesFile: {"names of the lists in the binary form (badkeysdata.json of badkeys)",
		constant("{\"bkformat\": 0, \"blocklists\": []}\n"), csr.CheckNames, false},
}

func constant(data string) func() []byte { return func() []byte { return []byte(data) } }

// checkByParsing returns a check that parses a file.
func checkByParsing[T any](parse func([]byte) (T, error)) func([]byte) error {
	return func(data []byte) error { _, err := parse(data); return err }
}

// checkData reads every list of --data, so that a mistake in one is reported at start and not to a customer.
func (a *app) checkData() error {
	if a.data != "" {
		if _, err := os.Stat(a.data); err != nil { // one fault, and not one for each list
			return fmt.Errorf("--data: %w", err)
		}
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		data, err := a.readOverride(name)
		if err == nil && data != nil {
			err = lists[name].check(data)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("--data: %s: %w", filepath.Join(a.data, name), err))
		}
	}
	return errors.Join(faults...)
}

func formatJSON(v any) []byte {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // of a table of this program
	}
	return append(data, '\n')
}

func parsePlans(data []byte) (metering.Plans, error) {
	var list []metering.Plan
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("reading the plans: %w; diagd data show %s prints a valid list", err, plansFile)
	}
	plans := metering.Plans{}
	for _, p := range list {
		if _, duplicate := plans[p.ID]; duplicate {
			return nil, fmt.Errorf("reading the plans: %s is listed twice", p.ID)
		}
		plans[p.ID] = p
	}
	return plans, plans.Validate()
}

func formatPlans(plans metering.Plans) []byte {
	list := slices.SortedFunc(maps.Values(plans), func(a, b metering.Plan) int {
		return cmp.Or(cmp.Compare(a.Credits, b.Credits), cmp.Compare(a.ID, b.ID))
	})
	return formatJSON(list)
}

type dataView struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Purpose string `json:"purpose"`
}

func (a *app) dataCommand() *cobra.Command {
	return a.newGroup("data", "Show the lists in force",
		newCommand("list", "List the data files and their sources", "",
			func(context.Context, []string) error { return a.listData() }),
		newCommand("show NAME", "Print a list", "the name of a list",
			func(_ context.Context, args []string) error { return a.showData(args[0]) }))
}

func (a *app) listData() error {
	var views []dataView
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		data, err := a.readOverride(name)
		if err != nil {
			return err
		}
		source := "built-in"
		if data != nil {
			source = a.data
		}
		views = append(views, dataView{name, source, lists[name].purpose})
	}
	return printList(a, views, nil, "NAME, SOURCE, PURPOSE",
		func(v dataView) []any { return []any{v.Name, v.Source, v.Purpose} })
}

func (a *app) showData(name string) error {
	list, ok := lists[name]
	if !ok {
		return usagef("unknown list %q; diagd data list shows all", name)
	}
	data, err := a.readOverride(name)
	if err != nil {
		return err
	}
	if list.secret && data != nil {
		return usagef("%s contains secrets and is not shown; read the file itself", name)
	}
	if data == nil {
		data = list.builtIn()
	}
	_, err = a.stdout.Write(data)
	return err
}
