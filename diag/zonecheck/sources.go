package zonecheck

import "github.com/diagkit/diagkit/diag"

// What the rules read, beside the probes.
const (
	isZone    diag.Source = "zone"      // whether the name is a zone of its own
	parents   diag.Source = "parents"   // the delegation at each server of the parent zone that is asked
	parentDS  diag.Source = "DS"        // the DS records there
	hosts     diag.Source = "hosts"     // the addresses of the name servers
	servers   diag.Source = "servers"   // what each of them is to the zone
	origins   diag.Source = "origins"   // who announces their addresses
	content   diag.Source = "content"   // what any of them was asked
	within    diag.Source = "within"    // names between others
	aliases   diag.Source = "aliases"   // where usual names lead
	mailHosts diag.Source = "mailHosts" // the addresses of the mail servers
	primary   diag.Source = "primary"   // the addresses of the primary server
)

// The probes that rules read, each at all servers of the zone.
const (
	identity    diag.Source = "identity"
	recursion   diag.Source = "recursion"
	transfer    diag.Source = "transfer"
	absent      diag.Source = "absent"
	www         diag.Source = "www"
	recordsKeys diag.Source = "DNSKEY"
	recordsNS   diag.Source = "NS"
	recordsA    diag.Source = "A"
	recordsAAAA diag.Source = "AAAA"
	recordsMX   diag.Source = "MX"
	recordsTXT  diag.Source = "TXT"
)
