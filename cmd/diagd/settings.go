package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// readSettings fills the settings that the command line does not give: from the environment first, then
// from the file named by --config. Only what the server takes is a setting; other flags, such as the
// name of a new key, belong to one call alone.
func (a *app) readSettings(flags *pflag.FlagSet) error {
	settings := settingFlags()
	if err := checkEnvironment(os.Environ(), settings); err != nil {
		return err
	}
	if path := os.Getenv(envName("config")); path != "" && !flags.Changed("config") {
		a.config = path
	}
	file := map[string]string{}
	if a.config != "" {
		var err error
		if file, err = readConfig(a.config, settings); err != nil {
			return err
		}
	}
	var failure error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || settings.Lookup(f.Name) == nil || failure != nil {
			return
		}
		value, from := file[f.Name], a.config
		if v, ok := os.LookupEnv(envName(f.Name)); ok {
			value, from = v, envName(f.Name)
		}
		if value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failure = usagef("%s: %s: %w", from, f.Name, err)
		}
	})
	return failure
}

// envName is the environment variable of a flag: DIAG_STORE for --store.
func envName(flag string) string {
	return "DIAG_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// checkEnvironment refuses variables that look like settings and are none: a misspelt one must not be
// ignored. DIAG_KEY is that of the program diag, and the others are those that Kubernetes sets for a
// service with the name "diag".
func checkEnvironment(environment []string, settings *pflag.FlagSet) error {
	known := map[string]bool{envName("config"): true, envName("key"): true}
	settings.VisitAll(func(f *pflag.Flag) { known[envName(f.Name)] = true })
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envName("")) || known[name] ||
			strings.HasPrefix(name, envName("service-")) || name == envName("port") || strings.HasPrefix(name, envName("port-")) {
			continue
		}
		return usagef("there is no setting %s; diagd serve --help lists the flags that name them", name)
	}
	return nil
}

// settingFlags are the flags that are settings too. All commands accept the same file, whichever of
// its settings concern them.
func settingFlags() *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	root := (&app{}).command()
	for _, flags := range []*pflag.FlagSet{root.Flags(), root.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Name != "config" {
				all.AddFlag(f)
			}
		})
	}
	return all
}

// readConfig reads lines of the form "key = value". Blank lines and those that begin with # say
// nothing. An unknown key is an error: a misspelt one must not be ignored.
func readConfig(path string, settings *pflag.FlagSet) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	values := map[string]string{}
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch _, twice := values[key]; {
		case !ok:
			return nil, usagef("%s:%d: a line is 'key = value'", path, n)
		case settings.Lookup(key) == nil:
			return nil, usagef("%s:%d: there is no setting %q", path, n, key)
		case twice:
			return nil, usagef("%s:%d: %s is set twice", path, n, key)
		}
		if q := len(value); q < 2 || value[0] != '"' || value[q-1] != '"' {
			if strings.HasPrefix(value, "#") || strings.Contains(value, " #") || strings.Contains(value, "\t#") {
				return nil, usagef("%s:%d: a comment stands on a line of its own; a value with # stands in double quotes", path, n)
			}
		}
		if q := len(value); q >= 2 && value[0] == '"' && value[q-1] == '"' {
			value = value[1 : q-1]
		}
		values[key] = value
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("--config: reading %s: %w", path, err)
	}
	return values, nil
}
