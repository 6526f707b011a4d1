package registry

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The built-in tables. What they say is public knowledge; each file names its source and date.
//
//go:embed data
var files embed.FS

// A list is a registry of services (RFC 9224 section 3).
type list struct {
	Description string    `json:"description,omitempty"`
	Publication string    `json:"publication,omitempty"`
	Services    []service `json:"services"`
	Version     string    `json:"version,omitempty"`
}

// A service is in charge of what its entries cover. As JSON it is an array of two arrays.
type service struct{ entries, urls []string }

// MarshalJSON implements [json.Marshaler].
func (s service) MarshalJSON() ([]byte, error) { return json.Marshal([2][]string{s.entries, s.urls}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *service) UnmarshalJSON(data []byte) error {
	var parts [][]string
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return errors.New("a service is not an array of two arrays")
	}
	s.entries, s.urls = parts[0], parts[1]
	return nil
}

// parseList reads a list in the form of the built-in tables: "source" and "date" with what they are, then at the margin
// the locations of a service and below it, indented, its entries. A "{}" in a location stands for the entry.
func parseList(text string) (list, error) {
	l := list{Version: "1.0"}
	var locations []string
	for i, line := range lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
		case words[0] == "source":
			l.Description = strings.TrimPrefix(line, "source ")
		case words[0] == "date":
			l.Publication = strings.TrimPrefix(line, "date ")
		case line[0] != ' ':
			locations = words
		case locations == nil:
			return list{}, fmt.Errorf("line %d: an entry without a service", i+1)
		default:
			l.add(locations, words)
		}
	}
	return l, nil
}

func (l *list) add(locations, entries []string) {
	if !strings.Contains(strings.Join(locations, " "), "{}") {
		l.Services = append(l.Services, service{entries, locations})
		return
	}
	for _, e := range entries {
		own := slices.Clone(locations)
		for i := range own {
			own[i] = strings.ReplaceAll(own[i], "{}", e)
		}
		l.Services = append(l.Services, service{[]string{e}, own})
	}
}

// lines splits a text into lines.
func lines(text string) []string { return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") }

// embedded reads a built-in table. That it can be read is tested.
func embedded(name string) list {
	l, err := parseList(embeddedText(name))
	if err != nil {
		panic("registry: " + name + ": " + err.Error())
	}
	return l
}

func embeddedText(name string) string {
	text, err := files.ReadFile("data/" + name)
	if err != nil {
		panic("registry: " + err.Error())
	}
	return string(text)
}

var builtinBootstrap = sync.OnceValue(func() *Bootstrap {
	b := &Bootstrap{lists: map[string]list{}}
	for _, kind := range kinds {
		b.lists[kind] = embedded(kind + ".txt")
	}
	if err := b.compile(); err != nil {
		panic("registry: " + err.Error())
	}
	return b
})

var builtinServers = sync.OnceValue(func() *Servers {
	l := embedded("whois.txt")
	s := &Servers{hosts: map[string]string{}}
	for _, v := range l.Services {
		for _, e := range v.entries {
			s.hosts[e] = v.urls[0]
		}
	}
	return s
})
