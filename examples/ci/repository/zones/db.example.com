; BIND: no error in this zone.
$TTL 1h
@	IN	SOA	ns1.example.net. hostmaster.example.com. (
			2026010102 ; serial
			4h         ; refresh
			1h         ; retry
			2w         ; expire
			1h )       ; negative answers
	IN	NS	ns1.example.net.
	IN	NS	ns2.example.net.
@	IN	MX	10 mx1
@	IN	TXT	"v=spf1 mx -all"
mx1	IN	A	192.0.2.25
_dmarc	IN	TXT	"v=DMARC1; p=reject; rua=mailto:dmarc@example.com"
_smtp._tls IN	TXT	"v=TLSRPTv1; rua=mailto:tls@example.com"
default._domainkey IN TXT ( "v=DKIM1; k=ed25519; "
			"p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" )
