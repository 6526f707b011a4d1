package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/diagkit/diagkit/cmd/internal/flagvalue"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/spf13/pflag"
)

// settingFaultView is a fault of a setting: where it is set, what is wrong and what to do.
type settingFaultView struct {
	Setting string `json:"setting,omitempty"` // empty if there is no such setting
	Source  string `json:"source"`            // "diagd.conf:3" or "DIAG_LISTEN"
	Fault   string `json:"fault"`
	Remedy  string `json:"remedy,omitempty"`
}

func (e *settingFaultView) Error() string {
	text := e.Source + ": " + e.Fault
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// readSettings fills the settings that the command line does not set: from the environment first, then from the file
// named by --config. Only flags of the server are settings; other flags, such as the name of a new key, belong to one
// call alone. The error joins all faults.
func (a *app) readSettings(flags *pflag.FlagSet) error {
	settings := settingFlags()
	faults := checkEnvironment(os.Environ(), settings)
	a.origins = map[string]string{"config": "--config"}
	if path := os.Getenv(envName("config")); path != "" && !flags.Changed("config") {
		a.config, a.origins["config"] = path, envName("config")
	}
	file := map[string]fileSetting{}
	if a.config != "" {
		read, lineFaults, err := readConfig(a.config, settings)
		if err != nil {
			return err
		}
		file, faults = read, append(faults, lineFaults...)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if settings.Lookup(f.Name) == nil {
			return
		}
		if f.Changed {
			a.origins[f.Name] = "--" + f.Name
			return
		}
		value, from := file[f.Name].value, file[f.Name].source
		if v, ok := os.LookupEnv(envName(f.Name)); ok {
			value, from = v, envName(f.Name)
		}
		if value == "" {
			return
		}
		a.origins[f.Name] = from
		if err := flags.Set(f.Name, value); err != nil {
			text := err.Error()
			if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
				text = flagvalue.Fault(bad)
			}
			faults = append(faults, &settingFaultView{f.Name, from, f.Name + ": " + text, flagPurpose(f)})
		}
	})
	return errors.Join(faults...)
}

func flagPurpose(f *pflag.Flag) string { return f.Name + ": " + f.Usage }

// envName is the environment variable of a flag: DIAG_STORE for --store.
func envName(flag string) string {
	return "DIAG_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// checkEnvironment refuses variables that look like settings but are not: a misspelt one must not be ignored.
// DIAG_KEY and DIAG_SERVER are those of the program diag, DIAG_TEST_… those of this module's tests, and the others
// are those that Kubernetes sets for a service with the name "diag".
func checkEnvironment(environment []string, settings *pflag.FlagSet) (faults []error) {
	known := map[string]bool{envName("config"): true, envName("key"): true, envName("server"): true}
	settings.VisitAll(func(f *pflag.Flag) { known[envName(f.Name)] = true })
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envName("")) || known[name] ||
			strings.HasPrefix(name, envName("test-")) || strings.HasPrefix(name, envName("service-")) ||
			name == envName("port") ||
			strings.HasPrefix(name, envName("port-")) {
			continue
		}
		remedy := "diagd serve --help lists the settings"
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envName(""))), "_", "-")
		if near := nearestSetting(flag, settings); near != "" {
			remedy = "did you mean " + envName(near) + "?"
		}
		faults = append(faults,
			&settingFaultView{Source: "the environment", Fault: "unknown setting " + name, Remedy: remedy})
	}
	return faults
}

// nearestSetting returns the setting that a misspelt one resembles, or "".
func nearestSetting(name string, settings *pflag.FlagSet) string {
	var all []string
	settings.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return phrase.Nearest(name, all...)
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

type fileSetting struct{ value, source string }

// readConfig reads lines of the form "key = value". Blank lines and those that begin with # are ignored. An unknown
// key is a Fault: a misspelt one must not be ignored.
func readConfig(path string, settings *pflag.FlagSet) (values map[string]fileSetting, faults []error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	values = map[string]fileSetting{}
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		source := fmt.Sprintf("%s:%d", path, n)
		if fault := checkLine(key, value, ok, values[key], settings); fault != nil {
			fault.Source = source
			faults = append(faults, fault)
			continue
		}
		values[key] = fileSetting{unquote(value), source}
	}
	if err := scanner.Err(); err != nil {
		return nil, nil, fmt.Errorf("--config: reading %s: %w", path, err)
	}
	return values, faults, nil
}

// checkLine returns the fault of a line, if it has one.
func checkLine(key, value string, isPair bool, before fileSetting, settings *pflag.FlagSet) *settingFaultView {
	switch {
	case !isPair:
		return &settingFaultView{Fault: "a line must be 'key = value'", Remedy: "write a value, or begin a comment with #"}
	case settings.Lookup(key) == nil:
		remedy := "diagd serve --help lists the settings"
		if near := nearestSetting(key, settings); near != "" {
			remedy = "did you mean " + near + "?"
		}
		return &settingFaultView{Fault: fmt.Sprintf("unknown setting %q", key), Remedy: remedy}
	case before.source != "":
		return &settingFaultView{Setting: key, Fault: key + " is set twice", Remedy: "remove this line or " + before.source}
	case unquote(value) == value &&
		(strings.HasPrefix(value, "#") || strings.Contains(value, " #") || strings.Contains(value, "\t#")):
		return &settingFaultView{Setting: key,
			Fault: "a comment must be on its own line", Remedy: "put a value with # in double quotes"}
	}
	return nil
}

// unquote removes double quotes around a value.
func unquote(value string) string {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		return value[1 : n-1]
	}
	return value
}
