package provider

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// providersText is the table. Its form, source and date stand in the file.
//
//go:embed data/providers.txt
var providersText string

type use int

const (
	usePTR use = iota
	useDKIM
	useEnvelope
	useSPF
	useCount
)

type index struct {
	services []*Service
	uses     [useCount]map[string]*Service
	labels   int // of the longest domain
}

var table = sync.OnceValue(func() *index {
	t, err := parse(providersText)
	if err != nil {
		panic(err) // the table is part of the program, and a test reads it
	}
	return t
})

func parse(text string) (*index, error) {
	t := &index{labels: 1}
	for u := range t.uses {
		t.uses[u] = map[string]*Service{}
	}
	owners := map[string]*Service{}
	var s *Service
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			s = nil
		case s == nil:
			s = &Service{Name: line}
			t.services = append(t.services, s)
		default:
			key, value, _ := strings.Cut(line, " ")
			err = t.set(s, owners, key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("table of providers, line %d: %w", number, err)
		}
	}
	return t, nil
}

// set takes one line about a service.
func (t *index) set(s *Service, owners map[string]*Service, key, value string) error {
	texts := map[string]*string{
		"category": (*string)(&s.Category), "sign": &s.Sign, "return": &s.ReturnPath, "docs": &s.Docs,
	}
	if field, ok := texts[key]; ok {
		if *field != "" || value == "" {
			return fmt.Errorf("%s of %s is empty or stands twice", key, s.Name)
		}
		*field = value
		return nil
	}
	lists := map[string]struct {
		use  use
		list *[]string
	}{"ptr": {usePTR, &s.PTR}, "dkim": {useDKIM, &s.DKIM}, "envelope": {useEnvelope, &s.Envelope}, "spf": {useSPF, &s.SPF}}
	entry, ok := lists[key]
	if !ok || len(*entry.list) > 0 {
		return fmt.Errorf("%s of %s is unknown or stands twice", key, s.Name)
	}
	*entry.list = strings.Fields(value)
	for _, domain := range *entry.list {
		if owner := owners[domain]; owner != nil && owner != s {
			return fmt.Errorf("%s belongs to %s and %s", domain, owner.Name, s.Name)
		}
		owners[domain] = s
		t.uses[entry.use][domain] = s
		t.labels = max(t.labels, strings.Count(domain, ".")+1)
	}
	return nil
}
