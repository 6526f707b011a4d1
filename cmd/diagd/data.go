package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/diagkit/diagkit/webcheck/phishing/lookalike"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/spf13/cobra"
)

// lists are the built-in lists that a file in --data replaces.
var lists = map[string]struct {
	purpose string
	builtIn func() ([]byte, error)
	check   func([]byte) error // of a file that replaces it
	secret  bool               // such a file is not shown
}{
	plansFile: {
		purpose: "plans that the first start takes into the store; diagd plan list shows those in force",
		builtIn: func() ([]byte, error) { return formatPlans(metering.DefaultPlans()) },
		check:   func(data []byte) error { _, err := parsePlans(data); return err },
	},
	dnsbl.File: {
		purpose: "blocklists and allow lists that blacklist/ip asks",
		builtIn: func() ([]byte, error) { return dnsbl.BuiltIn(), nil },
		check:   func(data []byte) error { _, err := dnsbl.ParseLists(data); return err },
	},
	dnsbl.KeysFile: {
		purpose: "keys of blocklists that need one, by name of account",
		builtIn: func() ([]byte, error) { return []byte("{}\n"), nil }, check: dnsbl.CheckKeys, secret: true,
	},
	hsts.File: {
		purpose: "HSTS preload list that http/hsts-check and http/headers-check look domains up in",
		builtIn: func() ([]byte, error) { return hsts.NoList(), nil },
		check:   func(data []byte) error { _, err := hsts.ParseList(data); return err },
	},
	markcert.RootsFile: {
		purpose: "root certificates of the authorities for mark certificates",
		builtIn: func() ([]byte, error) { return markcert.BuiltInRoots(), nil },
		check:   func(data []byte) error { _, err := markcert.ParseRoots(data); return err },
	},
	propagation.File: {
		purpose: "resolvers that resolve/propagation asks",
		builtIn: func() ([]byte, error) { return formatJSON(propagation.Vantages()) },
		check:   func(data []byte) error { _, err := propagation.ParseVantages(data); return err },
	},
	tlscert.LogsFile: {
		purpose: "logs of Certificate Transparency, in the form of Google's log_list.json",
		builtIn: func() ([]byte, error) { return markcert.BuiltInLogs(), nil }, // those of mark certificates
		check:   tlscert.CheckLogs,
	},
	lookalike.File: {
		purpose: "brands that phishing/check protects, with their own domains",
		builtIn: func() ([]byte, error) { return lookalike.BuiltInFile(), nil },
		check:   func(data []byte) error { _, err := lookalike.Parse(data); return err },
	},
	registry.BootstrapFile: {
		purpose: "RDAP services of domains, addresses and AS numbers",
		builtIn: func() ([]byte, error) { return formatJSON(registry.DefaultBootstrap()) },
		check:   func(data []byte) error { _, err := registry.ParseBootstrap(data); return err },
	},
	csr.KeyListFile: {
		purpose: "keys that are known to others, and moduli that share factors, for certificates/csr/parse",
		builtIn: func() ([]byte, error) { return []byte("{\"lists\": []}\n"), nil },
		check:   func(data []byte) error { _, err := pki.ParseKeyList(data); return err },
	},
	csr.KeyHashesFile: {
		purpose: "the same as SHA-256 of each SubjectPublicKeyInfo, one a line",
		builtIn: func() ([]byte, error) { return nil, nil },
		check:   func(data []byte) error { _, err := pki.ParseKeyHashes(csr.KeyHashesFile, data); return err },
	},
	csr.KeyTableFile: {
		purpose: "the same in the binary form of badkeys (its file blocklist.dat)",
		builtIn: func() ([]byte, error) { return nil, nil }, check: csr.CheckTable,
	},
	csr.KeyNamesFile: {
		purpose: "names of the lists in the binary form (badkeysdata.json of badkeys)",
		builtIn: func() ([]byte, error) { return []byte("{\"bkformat\": 0, \"blocklists\": []}\n"), nil },
		check:   csr.CheckNames,
	},
	registry.ServersFile: {
		purpose: "WHOIS servers by suffix",
		builtIn: func() ([]byte, error) { return formatJSON(registry.DefaultServers()) },
		check:   func(data []byte) error { _, err := registry.ParseServers(data); return err },
	},
}

// checkData reads every list of --data, so that a mistake in one is told at start and not to a customer.
func (a *app) checkData() error {
	if a.data != "" {
		if _, err := os.Stat(a.data); err != nil { // one fault, and not one for each list
			return fmt.Errorf("--data: %w", err)
		}
	}
	var faults faultList
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		data, err := a.override(name)
		if err == nil && data != nil {
			err = lists[name].check(data)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("--data: %s: %w", filepath.Join(a.data, name), err))
		}
	}
	return faults.err()
}

func formatJSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

func parsePlans(data []byte) (metering.Plans, error) {
	var list []metering.Plan
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("reading the plans: %w", err)
	}
	plans := metering.Plans{}
	for _, p := range list {
		if _, twice := plans[p.ID]; twice {
			return nil, fmt.Errorf("reading the plans: %s stands twice", p.ID)
		}
		plans[p.ID] = p
	}
	return plans, plans.Validate()
}

func formatPlans(plans metering.Plans) ([]byte, error) {
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
	return a.group("data", "Show the lists in force",
		leaf("list", "Name the lists and where each comes from", "",
			func(context.Context, []string) error { return a.listData() }),
		leaf("show NAME", "Print a list", "the name of a list",
			func(_ context.Context, args []string) error { return a.showData(args[0]) }))
}

func (a *app) listData() error {
	var views []dataView
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		data, err := a.override(name)
		if err != nil {
			return err
		}
		source := "built-in"
		if data != nil {
			source = a.data
		}
		views = append(views, dataView{name, source, lists[name].purpose})
	}
	return printList(a, views, "NAME, SOURCE, PURPOSE",
		func(v dataView) []any { return []any{v.Name, v.Source, v.Purpose} })
}

func (a *app) showData(name string) error {
	list, ok := lists[name]
	if !ok {
		return usagef("there is no list %q; diagd data list names them", name)
	}
	data, err := a.override(name)
	if err != nil {
		return err
	}
	if list.secret && data != nil {
		return usagef("%s holds secrets and is not shown; read the file itself", name)
	}
	if data == nil {
		data, err = list.builtIn()
	}
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(data)
	return err
}
