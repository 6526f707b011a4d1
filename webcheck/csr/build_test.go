package csr

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"sync"

	"golang.org/x/crypto/cryptobyte"
	asn1tag "golang.org/x/crypto/cryptobyte/asn1"
)

// A plan is a request that a test makes; the zero value is one without a fault for example.com.
type plan struct {
	version  int64
	subject  [][2]string // object identifiers and values; nil means the common name example.com
	spki     []byte      // nil means that of the key
	names    []string    // of the subjectAltName as host names; nil means example.com, empty none
	others   []value2    // further names
	raw      []extension // further extensions
	noList   bool
	password bool
	hash     string // object identifier of the algorithm
	broken   bool   // the signature
	behind   []byte // what follows the request
}

type value2 struct {
	tag  asn1tag.Tag
	data []byte
}

// signer is the key of the requests.
var signer = sync.OnceValue(func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
})

func oid(s string) (id asn1.ObjectIdentifier) {
	n := 0
	for _, c := range s {
		if c == '.' {
			id, n = append(id, n), 0
		} else {
			n = n*10 + int(c-'0')
		}
	}
	return append(id, n)
}

type builder = cryptobyte.Builder

func sequence(b *builder, f func(*builder)) { b.AddASN1(asn1tag.SEQUENCE, f) }

// encode makes the DER form of a request.
func (p plan) encode() []byte {
	var info builder
	sequence(&info, func(b *builder) {
		b.AddASN1Int64(p.version)
		sequence(b, p.addSubject)
		spki := p.spki
		if spki == nil {
			spki, _ = x509.MarshalPKIXPublicKey(&signer().PublicKey)
		}
		b.AddBytes(spki)
		if !p.noList {
			b.AddASN1(asn1tag.Tag(0).ContextSpecific().Constructed(), p.addAttributes)
		}
	})
	signed := info.BytesOrPanic()
	sum := sha256.Sum256(signed)
	if p.broken {
		sum[0] ^= 1
	}
	signature, err := signer().Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	hash := p.hash
	if hash == "" {
		hash = "1.2.840.10045.4.3.2"
	}
	var all builder
	sequence(&all, func(b *builder) {
		b.AddBytes(signed)
		sequence(b, func(b *builder) { b.AddASN1ObjectIdentifier(oid(hash)) })
		b.AddASN1BitString(signature)
	})
	return append(all.BytesOrPanic(), p.behind...)
}

func (p plan) pem() string { return inPEM(p.encode()) }

func inPEM(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func (p plan) addSubject(b *builder) {
	subject := p.subject
	if subject == nil {
		subject = [][2]string{{oidCommonName, "example.com"}}
	}
	for _, a := range subject {
		b.AddASN1(asn1tag.SET, func(b *builder) {
			sequence(b, func(b *builder) {
				b.AddASN1ObjectIdentifier(oid(a[0]))
				b.AddASN1(asn1tag.UTF8String, func(b *builder) { b.AddBytes([]byte(a[1])) })
			})
		})
	}
}

func (p plan) addAttributes(b *builder) {
	if p.password {
		sequence(b, func(b *builder) {
			b.AddASN1ObjectIdentifier(oid(oidChallenge))
			b.AddASN1(asn1tag.SET, func(b *builder) { b.AddASN1(asn1tag.UTF8String, func(b *builder) { b.AddBytes([]byte("hunter2")) }) })
		})
	}
	names := p.names
	if names == nil {
		names = []string{"example.com"}
	}
	list := p.raw
	if len(names)+len(p.others) > 0 {
		list = append([]extension{{OID: oidSAN, Value: san(names, p.others)}}, list...)
	}
	if len(list) == 0 {
		return
	}
	sequence(b, func(b *builder) {
		b.AddASN1ObjectIdentifier(oid(oidExtensions))
		b.AddASN1(asn1tag.SET, func(b *builder) {
			sequence(b, func(b *builder) {
				for _, e := range list {
					sequence(b, func(b *builder) {
						b.AddASN1ObjectIdentifier(oid(e.OID))
						if e.Critical {
							b.AddASN1Boolean(true)
						}
						b.AddASN1OctetString(e.Value)
					})
				}
			})
		})
	})
}

func san(names []string, others []value2) []byte {
	var b builder
	sequence(&b, func(b *builder) {
		for _, n := range names {
			b.AddASN1(asn1tag.Tag(2).ContextSpecific(), func(b *builder) { b.AddBytes([]byte(n)) })
		}
		for _, o := range others {
			b.AddASN1(o.tag.ContextSpecific(), func(b *builder) { b.AddBytes(o.data) })
		}
	})
	return b.BytesOrPanic()
}

// purposesOf is the value of the extension extKeyUsage.
func purposesOf(ids ...string) []extension {
	var b builder
	sequence(&b, func(b *builder) {
		for _, id := range ids {
			b.AddASN1ObjectIdentifier(oid(id))
		}
	})
	return []extension{{OID: oidExtKeyUsage, Value: b.BytesOrPanic()}}
}

// rsaKey is the SubjectPublicKeyInfo of an RSA key.
func rsaKey(algorithm string, null bool, n, e *big.Int) []byte {
	var key, b builder
	sequence(&key, func(b *builder) { b.AddASN1BigInt(n); b.AddASN1BigInt(e) })
	sequence(&b, func(b *builder) {
		sequence(b, func(b *builder) {
			b.AddASN1ObjectIdentifier(oid(algorithm))
			if null {
				b.AddASN1NULL()
			}
		})
		b.AddASN1BitString(key.BytesOrPanic())
	})
	return b.BytesOrPanic()
}

// curveKey is the SubjectPublicKeyInfo of a key on an elliptic curve whose parameters are given in DER.
func curveKey(params, point []byte) []byte {
	var b builder
	sequence(&b, func(b *builder) {
		sequence(b, func(b *builder) {
			b.AddASN1ObjectIdentifier(oid("1.2.840.10045.2.1"))
			b.AddBytes(params)
		})
		b.AddASN1BitString(point)
	})
	return b.BytesOrPanic()
}

func namedCurve(id string) []byte {
	var b builder
	b.AddASN1ObjectIdentifier(oid(id))
	return b.BytesOrPanic()
}

// prime returns a random prime of a size.
func prime(bits int) *big.Int {
	p, err := rand.Prime(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return p
}

// semiprime returns a modulus of a size without a known weakness.
var semiprime = sync.OnceValue(func() *big.Int {
	for {
		if n := new(big.Int).Mul(prime(1024), prime(1024)); n.BitLen() == 2048 {
			return n
		}
	}
})
