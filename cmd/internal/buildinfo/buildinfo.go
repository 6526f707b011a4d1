// Package buildinfo identifies the build of diag and diagd by what the Go command recorded in the program. Nothing has
// to be set when building: a build of a tagged commit reports the tag, any other [diag.Version].
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
)

// Info describes a build.
type Info struct {
	Version  string     `json:"version"`            // of the module, such as v1.2.3
	Commit   string     `json:"commit,omitempty"`   // empty if the program was not built in a repository
	Time     *time.Time `json:"time,omitempty"`     // of the commit
	Modified bool       `json:"modified,omitempty"` // whether there were uncommitted changes
	Contract string     `json:"contract_version"`   // of the wire contract
	Go       string     `json:"go_version"`
	Platform string     `json:"platform"` // linux/amd64
}

// Read describes the running program.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return describe(build)
}

func describe(build *debug.BuildInfo) Info {
	info := Info{
		Version: build.Main.Version, Contract: httpapi.Version, Go: cmp.Or(build.GoVersion, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if v := info.Version; v == "" || v == "(devel)" || strings.HasPrefix(v, "v0.0.0-") { // of a commit before any tag
		info.Version = "v" + diag.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				info.Time = &t
			}
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
}

// Text returns the output of --version of the named program.
func (i Info) Text(program string) string {
	text := fmt.Sprintf("%s %s\n", program, i.Version)
	if i.Commit != "" {
		text += "commit " + i.Commit
		if i.Time != nil {
			text += " of " + i.Time.UTC().Format(time.RFC3339)
		}
		if i.Modified {
			text += ", with uncommitted changes"
		}
		text += "\n"
	}
	return text + fmt.Sprintf("contract %s\n%s %s\n", i.Contract, i.Go, i.Platform)
}
