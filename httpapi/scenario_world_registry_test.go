package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A scenarioRegistry is the address of the registry of a top-level domain.
type scenarioRegistry struct{ rdapHost, rdapPath, whois string }

var scenarioRegistries = map[string]scenarioRegistry{
	"com": {"rdap.verisign.com", "/com/v1/domain/", "whois.verisign-grs.com"},
	"net": {"rdap.verisign.com", "/net/v1/domain/", "whois.verisign-grs.com"},
	"org": {"rdap.publicinterestregistry.org", "/rdap/domain/", "whois.publicinterestregistry.org"},
}

// register makes registries answer about domains. With WHOIS alone, no server listens at their RDAP services.
func (s *scenarioWorld) register(t testing.TB, w *diagtest.World) {
	registryOf := func(domain string) scenarioRegistry {
		registry, known := scenarioRegistries[domain[strings.LastIndex(domain, ".")+1:]]
		require.True(t, known, "%s: no registry of a scenario has it", domain)
		return registry
	}
	rdap, whois, referrals := map[string]map[string]string{}, map[string]map[string]string{}, map[string]string{}
	for domain, text := range s.RDAP {
		registry := registryOf(domain)
		var failure struct {
			Status json.RawMessage `json:"status"` // of a domain it is a list
		}
		require.NoError(t, json.Unmarshal(text, &failure))
		answer := string(text)
		if status := string(failure.Status); status != "" && status[0] != '[' {
			answer = `{"errorCode": ` + status + `}`
		}
		at := registry.rdapHost
		if rdap[at] == nil {
			rdap[at] = map[string]string{}
		}
		rdap[at][registry.rdapPath+domain] = answer
	}
	for domain, text := range s.WHOIS {
		registry := registryOf(domain)
		at := registry.whois
		if whois[at] == nil {
			whois[at] = map[string]string{}
		}
		whois[at][domain], referrals[domain] = text, "refer: "+at+"\n"
		if len(s.RDAP) == 0 {
			w.Behave(registry.rdapHost+":443", diagtest.Refuses)
		}
	}
	for _, host := range sortedKeys(rdap) {
		w.RDAP(host, rdap[host])
	}
	for _, host := range sortedKeys(whois) {
		w.Whois(host, whois[host])
	}
	if len(s.WHOIS) > 0 {
		w.Whois("whois.iana.org", referrals)
	}
}
