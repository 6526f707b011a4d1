package hsts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

// stages are how HSTS is introduced: each max-age is kept until nothing has broken for as long, so that a mistake
// is over soon. The last is that of hstspreload.org.
var stages = []uint64{300, 7 * 86400, 30 * 86400, 2 * 365 * 86400}

// firstValue is the header to begin with: for five minutes, and for this host alone, so that no subdomain without
// HTTPS is cut off.
const firstValue = "max-age=300"

// NextStage returns the next max-age to deploy, in seconds, after the current one, age, which is 0 if there
// is none. The bool ok is false after the last stage.
func NextStage(age uint64) (next uint64, ok bool) {
	i := slices.IndexFunc(stages, func(s uint64) bool { return s > age })
	if i < 0 {
		return 0, false
	}
	return stages[i], true
}

// Value returns the field value with these directives; age is max-age in seconds.
func Value(age uint64, subdomains, preload bool) string {
	s := fmt.Sprintf("max-age=%d", age)
	if subdomains {
		s += "; includeSubDomains"
	}
	if preload {
		s += "; preload"
	}
	return s
}

// nextStage returns the header that follows on the one in force: with a longer max-age, and for the same hosts.
// The directive preload is kept only where browsers have the domain on their list already: else it invites
// anyone to submit the domain.
func (e *evidence) nextStage() string {
	next, ok := NextStage(e.age())
	if !ok || !e.trusted() {
		return ""
	}
	return e.sameHosts(next)
}

// sameHosts returns a header with another max-age for the hosts for which that in force holds, or nothing if it
// would go on to cut off www.
func (e *evidence) sameHosts(age uint64) string {
	subdomains := e.inForce() && e.header.IncludeSubdomains
	if subdomains && e.wwwDoubtful() {
		return ""
	}
	return Value(age, subdomains, subdomains && e.header.Preload && e.listed())
}

// listedValue is the header that a listed domain has to send. It breaks no site: browsers have all of that on
// their list.
func (e *evidence) listedValue() string {
	if !e.trusted() || !e.listed() || !e.entry.IncludeSubdomains || e.wwwDoubtful() {
		return ""
	}
	age := uint64(0)
	if e.inForce() {
		age = e.age()
	}
	return Value(max(age, stages[len(stages)-1]), true, !e.wholeSuffix()) // never submitted below a listed suffix
}

func (e *evidence) withoutPreload() string {
	if !e.inForce() || e.age() == 0 {
		return ""
	}
	return Value(e.age(), e.header.IncludeSubdomains, false)
}

var spans = []struct {
	length uint64
	name   string
}{{365 * 86400, "year"}, {86400, "day"}, {3600, "hour"}, {60, "minute"}}

// seconds writes an age for a sentence: "31536000 seconds (1 year)".
func seconds(age uint64) string {
	text := fmt.Sprintf("%d seconds", age)
	for _, s := range spans {
		if n := age / s.length; n > 0 {
			about := ""
			if age%s.length != 0 {
				about = "about "
			}
			return fmt.Sprintf("%s (%s%s)", text, about, phrase.Count(int64(n), s.name))
		}
	}
	return text
}

// meant returns the directive for which a name was probably meant, or nothing.
func meant(name string) string {
	lower := strings.ToLower(name)
	plain := strings.NewReplacer("-", "", "_", "").Replace(lower)
	for _, known := range []string{"max-age", "includeSubDomains", "preload"} {
		target := strings.ToLower(known)
		if lower == target {
			continue
		}
		if phrase.Distance(lower, target) <= 2 || phrase.Distance(plain, strings.ReplaceAll(target, "-", "")) <= 1 {
			return known
		}
	}
	return ""
}
