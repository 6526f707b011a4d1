package arc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

// publish returns a world in which there are TXT records, by name.
func publish(t testing.TB, records map[string]string) *diagtest.World {
	var zone strings.Builder
	for name, text := range records {
		fmt.Fprintf(&zone, "%s 300 IN TXT", dns.Fqdn(name))
		text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		for ; len(text) > 200; text = text[200:] {
			fmt.Fprintf(&zone, ` "%s"`, text[:200])
		}
		fmt.Fprintf(&zone, " \"%s\"\n", text)
	}
	w := diagtest.NewWorld(t)
	w.Zone(zone.String())
	return w
}
