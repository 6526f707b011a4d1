//go:build !race || nightly

package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/cmd/internal/released"
)

// Spreadsheets and bookkeeping rely on the columns of the files that the dashboard and diagd billing write.
func TestReleasedColumnsOfDiagd(t *testing.T) {
	s := oldStoreOf(t, "300d4294", ".db.gz")
	_, store := s.copyTo(t, t.TempDir())
	s.migrated(t, store)
	header := func(file string) string {
		first, _, _ := strings.Cut(file, "\r\n")
		require.Contains(t, first, ",")
		return first
	}
	var lines []string
	for _, list := range []string{"invoices", "notes", "charges --month=2026-10"} {
		args := append([]string{"billing"}, strings.Fields(list)...)
		lines = append(lines, "diagd billing "+list+" = "+header(command(t, append(args, "--csv", store)...)))
	}
	began := time.Now()
	a := &app{drain: drainTime, wall: func() time.Time { return wasWritten.Add(time.Since(began)) }}
	server := startApp(t, a, store, servePublished(t))
	for _, name := range []string{"usage", "activity", "domains"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/dashboard/"+name+".csv", nil)
		require.NoError(t, err)
		req.Header.Set("Cookie", "diagkit="+s.Session)
		r, err := do(http.DefaultClient, req)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status, name)
		lines = append(lines, "/dashboard/"+name+".csv = "+header(r.body))
	}
	require.Equal(t, exitOK, server.wait())
	released.Check(t, released.List{Name: "diagd-csv", Lines: lines,
		Widened: released.Appended, Remedy: "A column keeps its place: add new ones at the end."})
}
