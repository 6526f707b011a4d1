package main

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/spf13/pflag"
)

// expand lets values stand in the name of a check as they do in the path of the API: it turns
// spf/hosted/spf_…/history into spf/hosted/{id}/history --id=spf_….
func expand(global *pflag.FlagSet, args []string) []string {
	i := commandWord(global, args)
	if i < 0 {
		return args
	}
	var best []string
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == args[i] {
			return args
		}
		if flags, ok := fill(ep.Name(), args[i]); ok {
			best = append([]string{ep.Name()}, flags...)
		}
	}
	if best == nil {
		return args
	}
	return slices.Concat(args[:i], best, args[i+1:])
}

// fill compares a word with a name such as spf/hosted/{id}, and returns the flags for what stands in
// the places of its parameters.
func fill(name, word string) (flags []string, ok bool) {
	names, words := strings.Split(name, "/"), strings.Split(word, "/")
	if len(names) != len(words) {
		return nil, false
	}
	for i, segment := range names {
		field := strings.Trim(segment, "{}")
		switch {
		case field == segment && segment != words[i], words[i] == "":
			return nil, false
		case field != segment:
			flags = append(flags, "--"+flagName(field)+"="+words[i])
		}
	}
	return flags, true
}

// commandWord returns the index of the word that names the check, behind flags and their values, or -1.
func commandWord(global *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return -1
		}
		if len(arg) < 2 || arg[0] != '-' {
			return i
		}
		if strings.Contains(arg, "=") {
			continue
		}
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(arg, "--"):
			f = global.Lookup(arg[2:])
		case len(arg) == 2:
			f = global.ShorthandLookup(arg[1:])
		default:
			continue // its value is in the same word
		}
		if f == nil || f.NoOptDefVal == "" {
			i++ // the next word is its value
		}
	}
	return -1
}
