package aggregate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// read reads a report with copies of its records.
func read(t testing.TB, data []byte) (*Report, []Record, error) {
	t.Helper()
	var records []Record
	r, err := readOne(data, func(r *Record) error {
		records = append(records, clone(r))
		return nil
	})
	if r != nil {
		require.Equal(t, len(records), r.Read)
		require.LessOrEqual(t, r.Read, r.Records)
	}
	return r, records, err
}

// readOne reads a file with one report.
func readOne(data []byte, each func(*Record) error) (*Report, error) {
	f, err := Read(data, each)
	if err != nil {
		return nil, err
	}
	return f.Reports[0], nil
}

func clone(r *Record) Record {
	c := *r
	c.Overrides, c.Extensions = append([]Override{}, r.Overrides...), append([]Extension{}, r.Extensions...)
	c.DKIMAuth, c.SPFAuth = append([]DKIMAuth{}, r.DKIMAuth...), append([]SPFAuth{}, r.SPFAuth...)
	return c
}

// Reports of real receivers, and of the tests of other programs: each is read, or refused for what it is.
func TestConformanceReports(t *testing.T) {
	read0, refused, messages := 0, map[content]int{}, int64(0)
	for _, path := range diagtest.Suite(t, "mail/dmarc-reports") {
		if filepath.Ext(path) == ".json" {
			continue
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		r, records, err := read(t, data)
		if other, ok := errors.AsType[*notReportError](err); ok {
			refused[other.Content]++
			require.Equal(t, len(data) == 0, other.Content == contentEmpty, path)
			continue
		}
		require.NoError(t, err, path)
		read0++
		require.NotEmpty(t, r.Policy.Domain, path)
		require.NotEmpty(t, records, path)
		require.False(t, r.Truncated, path)
		for _, record := range records {
			require.True(t, record.SourceIP.IsValid(), path)
			messages += record.Count
		}
	}
	require.Positive(t, read0)
	t.Logf("%d reports of %d messages read, refused: %v", read0, messages, refused)
}
