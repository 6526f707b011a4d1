package dmarcbis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/stretchr/testify/require"
)

// BenchmarkMigrate migrates a usual record, and the worst that fits into a request.
func BenchmarkMigrate(b *testing.B) {
	records := map[string]string{
		"usual": "v=DMARC1; p=quarantine; pct=50; rua=mailto:a@example.com!10m,mailto:b@example.net; ri=3600",
		"tags":  "v=DMARC1; p=reject", "repeated": "v=DMARC1; p=reject", "unparted": "v=DMARC1; p=reject; rua=",
		"addresses": "v=DMARC1; p=none; rua=a@b.c", "empty": "v=DMARC1",
	}
	for i := 0; len(records["tags"]) < dmarc.MaxRecordLength-20; i++ {
		records["tags"] += fmt.Sprintf("; %c%s=", 'a'+i%26, strings.Repeat("x", i/26%9)+string(rune('a'+i/234%26)))
	}
	for name, part := range map[string]string{"repeated": "; p=none", "unparted": " sp=none", "addresses": ",a@b.c!1", "empty": ";"} {
		records[name] += strings.Repeat(part, (dmarc.MaxRecordLength-200)/len(part))
	}
	for name, record := range records {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := Migrate(MigrateRequest{Record: record})
				require.NoError(b, err)
			}
		})
	}
}
