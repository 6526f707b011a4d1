package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/diagkit/diagkit/metering"
	"github.com/spf13/cobra"
)

// lists are the built-in lists that a file in --data replaces.
var lists = map[string]struct {
	purpose string
	builtIn func() ([]byte, error)
}{
	plansFile: {
		purpose: "plans, their allowances and prices",
		builtIn: func() ([]byte, error) { return formatPlans(metering.DefaultPlans()) },
	},
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
	data, err := json.MarshalIndent(list, "", "  ")
	return append(data, '\n'), err
}

func (a *app) dataCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "Name the lists and where each comes from", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.listData() },
	}
	list.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return group("data", "Show the lists in force", list, &cobra.Command{
		Use: "show NAME", Short: "Print a list", Args: exactly(1, "the name of a list"),
		RunE: func(_ *cobra.Command, args []string) error { return a.showData(args[0]) },
	})
}

type dataView struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Purpose string `json:"purpose"`
}

func (a *app) listData() error {
	views := []dataView{}
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
	return a.print(views, func(t *table) {
		t.row("NAME", "SOURCE", "PURPOSE")
		for _, v := range views {
			t.row(v.Name, v.Source, v.Purpose)
		}
	})
}

func (a *app) showData(name string) error {
	list, ok := lists[name]
	if !ok {
		return usagef("there is no list %q; diagd data list names them", name)
	}
	data, err := a.override(name)
	if err == nil && data == nil {
		data, err = list.builtIn()
	}
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(data)
	return err
}
