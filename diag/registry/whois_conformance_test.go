package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// wanted is the reference reading of a sample.
type wanted struct {
	Domain struct {
		Punycode    string   `json:"punycode"`
		Status      []string `json:"status"`
		NameServers []string `json:"name_servers"`
		DNSSEC      bool     `json:"dnssec"`
		Created     string   `json:"created_date"`
		CreatedAt   string   `json:"created_date_in_time"`
		Updated     string   `json:"updated_date"`
		UpdatedAt   string   `json:"updated_date_in_time"`
		Expires     string   `json:"expiration_date"`
		ExpiresAt   string   `json:"expiration_date_in_time"`
	} `json:"domain"`
	Registrar struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"registrar"`
}

// TestConformanceWHOIS reads samples of WHOIS answers, and compares the results with reference readings. An answer
// that a name is not registered must never be read as a registration, nor as a refusal.
func TestConformanceWHOIS(t *testing.T) {
	right, total := 0, 0
	check := func(what string, ok bool, got, want any) {
		total++
		if ok {
			right++
			return
		}
		t.Errorf("%s: got %v; want %v", what, got, want)
	}
	samples := diagtest.Suite(t, "dns/whois/noterror/*.json")
	for _, path := range samples {
		text, err := os.ReadFile(strings.TrimSuffix(path, ".json"))
		require.NoError(t, err)
		var want wanted
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &want))
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		r := readRecord(decode(text), want.Domain.Punycode)
		d := want.Domain
		outcome := r.judge(decode(text))
		check(name+": outcome", outcome == found, outcome, found)
		check(name+": registrar", r.registrar.Name == want.Registrar.Name, r.registrar.Name, want.Registrar.Name)
		check(name+": IANA ID", r.registrar.IANAID == want.Registrar.ID, r.registrar.IANAID, want.Registrar.ID)
		check(name+": created", sameDate(string(text), r.created, d.Created, d.CreatedAt), r.created, d.Created)
		check(name+": updated", sameDate(string(text), r.updated, d.Updated, d.UpdatedAt), r.updated, d.Updated)
		check(name+": expires", sameDate(string(text), r.expires, d.Expires, d.ExpiresAt), r.expires, d.Expires)
		check(name+": name servers", sameServers(r.nameservers, d.NameServers), r.nameservers, d.NameServers)
		check(name+": status", sameStatuses(r.statuses, d.Status), r.statuses, d.Status)
		check(name+": DNSSEC", r.signed || !d.DNSSEC, r.signed, d.DNSSEC)
	}
	notFound := diagtest.Suite(t, "dns/whois/notfound")
	for _, path := range notFound {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, name, _ := strings.Cut(filepath.Base(path), "_")
		got := readRecord(decode(text), name).judge(decode(text))
		check(filepath.Base(path), got == absent || got == reserved, got, absent)
	}
	require.NotZero(t, total)
	t.Logf("dns/whois: %d samples, %d/%d fields", len(samples)+len(notFound), right, total)
}

// foreignZone is a time zone that the vectors do not parse.
var foreignZone = regexp.MustCompile(`\((?:UTC|GMT)[+-]`)

// sameDate compares the line of a date, and its value if the vectors have one. The vectors take the last of several
// lines with the same key, even if that is one about the name servers; here it is the first, which is about the
// domain. A "before" date is not the start of the registration, and the date after the state of a domain under jp is
// the end of its registration, which the vectors do not parse.
func sameDate(text string, got whoisDate, want, wantTime string) bool {
	if want == "" || strings.HasPrefix(want, "before ") {
		return got.time.IsZero() || strings.Contains(text, "Connected ("+got.text+")")
	}
	when, err := time.Parse(time.RFC3339, wantTime)
	if err == nil && !foreignZone.MatchString(want) {
		return when.Equal(got.time)
	}
	return !got.time.IsZero() && (got.text == want || sameKey(text, got.text, want))
}

// sameKey reports whether two values follow the same key, the first value first.
func sameKey(text, first, second string) bool {
	i, j := strings.Index(text, first), strings.LastIndex(text, second)
	if first == "" || i < 0 || j < i {
		return false
	}
	return keyBefore(text, i) == keyBefore(text, j)
}

func keyBefore(text string, i int) string {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.TrimRight(strings.TrimSpace(line), ":")
}

func sameServers(got []Nameserver, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, n := range got {
		if n.Name != strings.ToLower(want[i]) {
			return false
		}
	}
	return true
}

// sameStatuses compares statuses up to letter case. Of one with several words the vectors keep the
// first.
func sameStatuses(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, s := range got {
		if first, _, _ := strings.Cut(s, " "); !strings.EqualFold(s, want[i]) && !strings.EqualFold(first, want[i]) {
			return false
		}
	}
	return true
}
