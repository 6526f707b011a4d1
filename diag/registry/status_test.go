package registry

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The meaning of a status depends on the others: no two of these texts contradict each other.
func TestStatusesTogether(t *testing.T) {
	const (
		gone       = "can no longer be restored"
		restore    = "can restore it for about 30 days"
		atEnd      = "removed when its redemption period ends, unless it is restored"
		asked      = "has asked to restore"
		onHold     = "on hold while the domain is being restored"
		nothing    = "Nothing is pending"
		theOthers  = "The other statuses say"
		noServers  = "No name servers are set"
		prohibited = "although a lock prohibits transfers"
	)
	tests := []struct {
		name     string
		statuses string   // separated by bars
		want     []string // code and part of the meaning of each
	}{
		{"pending delete alone", "pending delete", []string{"pendingDelete", gone}},
		{"redemption alone", "redemption period", []string{"redemptionPeriod", restore}},
		{"redemption of RDAP", "redemption period|pending delete", []string{"redemptionPeriod", restore, "pendingDelete", atEnd}},
		{"in the other order", "pending delete|redemption period", []string{"pendingDelete", atEnd, "redemptionPeriod", restore}},
		{"redemption of WHOIS", "pendingDelete|redemptionPeriod", []string{"pendingDelete", atEnd, "redemptionPeriod", restore}},
		{"in capitals", "PENDING_DELETE|REDEMPTION-PERIOD", []string{"pendingDelete", atEnd, "redemptionPeriod", restore}},
		{"in one text", "pendingDelete / redemptionPeriod", []string{"pendingDelete", atEnd, "redemptionPeriod", restore}},
		{"in one text without a slash", "PENDING DELETE REDEMPTION PERIOD",
			[]string{"pendingDelete", atEnd, "redemptionPeriod", restore}},
		{"twice the same in one text", "pendingDelete / pendingDelete", []string{"pendingDelete", gone}},
		{"old word for redemption", "PENDING DELETE RESTORABLE", []string{"redemptionPeriod", restore}},
		{"old word for the end", "PENDING DELETE SCHEDULED FOR RELEASE", []string{"pendingDelete", gone}},
		{"quarantine", "in quarantine|pending delete",
			[]string{"quarantine", "Its former holder can restore it", "pendingDelete", "when its quarantine ends"}},
		{"being restored", "pending restore|pending delete", []string{"pendingRestore", asked, "pendingDelete", onHold}},
		{"being restored, in redemption", "pendingDelete|redemptionPeriod|pendingRestore",
			[]string{"pendingDelete", onHold, "redemptionPeriod", asked, "pendingRestore", asked}},
		{"ok", "ok", []string{"ok", nothing}},
		{"ok with a grace period", "ok / autoRenewPeriod", []string{"ok", nothing, "autoRenewPeriod", ""}},
		{"ok with a lock", "ok|client transfer prohibited", []string{"ok", theOthers, "clientTransferProhibited", ""}},
		{"ok with something pending", "ok|pendingUpdate", []string{"ok", theOthers, "pendingUpdate", ""}},
		{"ok and inactive", "ok|inactive", []string{"ok", theOthers, "inactive", noServers}},
		{"locked and in transfer", "pending transfer|client transfer prohibited",
			[]string{"pendingTransfer", prohibited, "clientTransferProhibited", "although one is pending"}},
		{"locked and being deleted", "pending delete|redemption period|server delete prohibited",
			[]string{"pendingDelete", atEnd, "redemptionPeriod", restore, "serverDeleteProhibited", "although one is pending"}},
		{"in transfer", "pending transfer", []string{"pendingTransfer", "under way."}},
		{"held after expiry", "client hold|auto renew period", []string{"clientHold", "after the registration expired", "autoRenewPeriod", ""}},
		{"held", "client hold|add period", []string{"clientHold", "out of the DNS.", "addPeriod", ""}},
		{"words of one registry", "Transfer Locked", []string{"Transfer Locked", "of this registry only"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := (&facts{statuses: strings.Split(tt.statuses, "|")}).explained()
			require.Len(t, got, len(tt.want)/2)
			for i, s := range got {
				require.Equal(t, tt.want[2*i], s.Code)
				require.Contains(t, s.Meaning, tt.want[2*i+1])
			}
		})
	}
	served := facts{statuses: []string{"inactive"}, nameservers: []Nameserver{{Name: "ns1.example.net"}}}
	require.Contains(t, served.explained()[0].Meaning, "lists name servers")
}

// A row for a status combined with another one precedes the row for the status alone.
func TestStatusTable(t *testing.T) {
	alone := map[string]bool{}
	for _, row := range statuses() {
		require.False(t, alone[row.Code], "%s + %s", row.Code, row.otherStatus)
		alone[row.Code] = row.otherStatus == ""
		require.Contains(t, Impact("").Values(), string(row.Impact))
	}
}

// Headline, detail and advice say the same of a domain that is being deleted, and nothing else is advised.
func TestDeletion(t *testing.T) {
	const locks, date = `"client transfer prohibited"`, "2026-08-13T04:00:00Z"
	tests := []struct {
		name, statuses, detail, advice string
		others                         []string // codes of the other findings
	}{
		{"redemption", `"redemption period", "pending delete"`, "can still restore it", "Have the registrar restore", nil},
		{"redemption, held", `"redemption period", "pending delete", "server hold"`, "can still restore it",
			"Have the registrar restore", []string{"rdap.status.hold"}},
		{"quarantine", `"quarantine"`, "can still restore it", "Have the registrar restore", nil},
		{"being restored", `"pending delete", "pending restore"`, "has asked to restore it", "restore report", nil},
		{"too late", `"pending delete"`, "can no longer restore it", "Register the domain anew", nil},
		{"too late, held", `"pending delete", "server hold", "inactive"`, "can no longer restore it", "Register the domain anew", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			answer := strings.NewReplacer(locks, tt.statuses, date, "2025-11-20T04:00:00Z").Replace(good)
			published(answer)(w)
			r, err := LookupDomain(t.Context(), w.Env(), request)
			require.NoError(t, err)
			codes := []string{}
			for _, f := range r.Findings {
				if f.Code == "rdap.status.deletion" {
					require.Contains(t, f.Detail, tt.detail)
					require.Contains(t, f.Advice, tt.advice)
					continue
				}
				codes = append(codes, string(f.Code))
			}
			require.Equal(t, append([]string{}, tt.others...), codes)
			require.Equal(t, "Domain is being deleted", r.Headline)
			require.Contains(t, r.Sub, tt.advice)
		})
	}
}

// A hold after the registration expired ends with its renewal.
func TestHoldAfterExpiry(t *testing.T) {
	w := diagtest.NewWorld(t)
	edited(`"client transfer prohibited"`, `"client transfer prohibited", "client hold", "auto renew period"`)(w)
	r, err := LookupDomain(t.Context(), w.Env(), request)
	require.NoError(t, err)
	require.Len(t, r.Findings, 1)
	require.Contains(t, r.Findings[0].Advice, "renewal")
}

// That a registration has expired is known by its status as well.
func TestExpiredByStatus(t *testing.T) {
	for _, date := range []string{"2026-08-13T04:00:00Z", "2025-12-13T04:00:00Z", "2026-01-05T04:00:00Z", ""} {
		w := diagtest.NewWorld(t)
		published(strings.NewReplacer(`"client transfer prohibited"`, `"expired"`, "2026-08-13T04:00:00Z", date).Replace(good))(w)
		r, err := LookupDomain(t.Context(), w.Env(), request)
		require.NoError(t, err)
		require.Equal(t, "rdap.expiry.passed", string(r.Findings[0].Code), date)
		require.Len(t, r.Findings, 1)
	}
}
