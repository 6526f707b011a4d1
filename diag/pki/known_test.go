package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func rsaSample(t testing.TB) *Key {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	k, err := ReadKey(spki)
	require.NoError(t, err)
	return k
}

func outcomes(t testing.TB, k *Key, known *KnownKeys) map[CheckCode]CheckStatus {
	list, err := k.Checks(known)
	require.NoError(t, err)
	m := map[CheckCode]CheckStatus{}
	for _, c := range list {
		require.NotEmpty(t, c.Detail)
		m[c.Code] = c.Status
	}
	require.Len(t, m, len(CheckCode("").Values()))
	return m
}

// Without data nothing is known about known keys; with data a key is on a list or not.
func TestKnownKeys(t *testing.T) {
	k, other := rsaSample(t), rsaSample(t)
	none := outcomes(t, k, nil)
	require.Equal(t, CheckSkipped, none[CheckDebian])
	require.Equal(t, CheckSkipped, none[CheckBlocklist])
	require.Equal(t, CheckSkipped, none[CheckSharedPrime])
	require.Equal(t, CheckPassed, none[CheckFermat])

	hashes, err := ParseKeyHashes("leaked", []byte("# list\n\n"+k.Describe().SPKISHA256+"  firmware\n"))
	require.NoError(t, err)
	known := &KnownKeys{Lists: []KeyList{hashes}}
	require.Equal(t, CheckFailed, outcomes(t, k, known)[CheckBlocklist])
	require.Equal(t, CheckPassed, outcomes(t, other, known)[CheckBlocklist])
	require.Equal(t, CheckSkipped, outcomes(t, other, known)[CheckDebian])

	lists, err := ParseKeyList(fmt.Appendf(nil, `{"lists": [{"name": "own", "moduli": ["%x", "%x"]}]}`, k.N, other.N))
	require.NoError(t, err)
	require.Equal(t, CheckPassed, outcomes(t, k, &KnownKeys{Lists: lists})[CheckSharedPrime]) // it is its own modulus
}

// The table of badkeys is searched where it lies.
func TestKeyTable(t *testing.T) {
	k, other := rsaSample(t), rsaSample(t)
	var entries [][]byte
	for i := range 1000 {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		entries = append(entries, append(sum[:15:15], 2))
	}
	sum := sha256.Sum256(k.N.Bytes())
	entries = append(entries, append(sum[:15:15], 1))
	slices.SortFunc(entries, bytes.Compare)
	data := bytes.Join(entries, nil)
	table, err := NewKeyTable(bytes.NewReader(data), int64(len(data)), []byte(`{"bkformat": 0, "blocklists": [{"id": 1, "name": "debianssl", "type": "github"}]}`))
	require.NoError(t, err)
	require.NoError(t, table.CheckSorted())
	known := &KnownKeys{Table: table}
	require.Equal(t, CheckFailed, outcomes(t, k, known)[CheckDebian])
	require.Equal(t, CheckPassed, outcomes(t, other, known)[CheckDebian])

	copy(data, bytes.Repeat([]byte{0xff}, 16))
	require.ErrorContains(t, table.CheckSorted(), "out of order")
	_, err = NewKeyTable(bytes.NewReader(data), 17, nil)
	require.Error(t, err)
	_, err = NewKeyTable(bytes.NewReader(data), 16, []byte(`{"bkformat": 1}`))
	require.Error(t, err)
}

func TestParseKeyListRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{", `{"list": []}`, `{"lists": [], "lists": []}`, `{"lists": [{"name": ""}]}`, `{"lists": [{"name": "a", "spki_sha256": ["00"]}]}`,
		`{"lists": [{"name": "a", "moduli": ["x"]}]}`, `{"lists": []} {}`,
	} {
		_, err := ParseKeyList([]byte(text))
		require.Error(t, err, text)
	}
	_, err := ParseKeyHashes("a", []byte("zz"))
	require.Error(t, err)
}

// Factors are found that are far apart, in more steps than others make, or in a simple ratio.
func TestFermat(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	near := func(p *big.Int) *big.Int {
		for p.SetBit(p, 0, 1); !p.ProbablyPrime(10); p.Add(p, big.NewInt(2)) {
		}
		return p
	}
	for _, tt := range []struct {
		name     string
		distance uint // of the factors of a modulus of 2048 bits: 2^this
		ratio    int64
		found    bool
	}{
		{"close", 10, 1, true}, {"boulder finds it", 500, 1, true}, {"badkeys does not", 518, 1, true}, {"beyond 1000 steps", 521, 1, true},
		{"far", 600, 1, false}, {"double", 100, 2, true}, {"triple", 100, 3, true},
	} {
		p := modulus(t, 1024)
		p = near(p)
		q := new(big.Int).Mul(p, big.NewInt(tt.ratio))
		q = near(q.Add(q, new(big.Int).Lsh(big.NewInt(1), tt.distance)))
		require.Equal(t, tt.found, closeFactors(new(big.Int).Mul(p, q)), tt.name)
	}
}

// A sieve passes exactly the steps that are squares modulo it.
func TestSieve(t *testing.T) {
	a, m, square := modulus(t, 200), modulus(t, 300), new(big.Int)
	for _, modulus := range slices.Concat(sieves[:]...) {
		of := new(big.Int).SetUint64(modulus)
		s := newSieve(modulus, new(big.Int).Mod(a, of).Uint64(), new(big.Int).Mod(m, of).Uint64())
		steps := []uint32{fermatRounds - 128, fermatRounds - 64}
		for first := uint32(0); first < uint32(64*modulus); first += 64 {
			steps = append(steps, first)
		}
		for _, first := range steps {
			for bit := range uint32(64) {
				square.Add(a, big.NewInt(int64(first+bit)))
				residue := square.Sub(square.Mul(square, square), m).Mod(square, of).Uint64()
				possible := false
				for x := range modulus {
					possible = possible || x*x%modulus == residue
				}
				require.Equal(t, possible, s.from(first)>>bit&1 == 1, "modulo %d, step %d", modulus, first+bit)
			}
		}
	}
}

// The search begins at the root for each ratio and for each size of a modulus.
func TestRatios(t *testing.T) {
	for _, size := range []int{16, 64, 512, 2048, 4096} {
		for _, r := range ratios {
			for range 10 {
				p, err := rand.Int(rand.Reader, new(big.Int).Lsh(one, uint(size-1)))
				require.NoError(t, err)
				p.SetBit(p.SetBit(p, size-1, 1), 0, 1)
				q := new(big.Int).Mul(p, big.NewInt(r[1]))
				q.Div(q, big.NewInt(r[0]))
				for q.SetBit(q, 0, 1); new(big.Int).GCD(nil, nil, p, q).Cmp(one) != 0; q.Add(q, big.NewInt(2)) {
				}
				require.True(t, closeFactors(new(big.Int).Mul(p, q)), "%d bits, %d to %d", size, r[0], r[1])
			}
		}
	}
}

// The cached outcomes are the computed ones, and never exceed the bound.
func TestFactorableRemembers(t *testing.T) {
	var m memory
	for i := range 3*maxSearched + 10 {
		sum := sha256.Sum256(strconv.AppendInt(nil, int64(i), 10))
		m.put(sum, strconv.Itoa(i))
		why, ok := m.get(sum)
		require.True(t, ok)
		require.Equal(t, strconv.Itoa(i), why)
		first, ok := m.get(sha256.Sum256([]byte("0")))
		require.True(t, ok, "what is asked for again is kept")
		require.Equal(t, "0", first)
		require.LessOrEqual(t, max(len(m.newer), len(m.older)), maxSearched)
	}
	n := new(big.Int).Lsh(modulus(t, 1024), 1)
	require.Contains(t, Factorable(n), "small prime factor")
	require.Contains(t, Factorable(new(big.Int).Set(n)), "small prime factor")
}

// Patterns that chance does not make.
func TestPatterned(t *testing.T) {
	n := modulus(t, 2048)
	require.Empty(t, patterned(n))
	run := n.Bytes()
	copy(run[100:], bytes.Repeat([]byte{7}, 16))
	require.NotEmpty(t, patterned(new(big.Int).SetBytes(run)))
	require.NotEmpty(t, patterned(new(big.Int).And(n, new(big.Int).Rsh(n, 1))))
}

func BenchmarkChecks(b *testing.B) {
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	require.NoError(b, err)
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(b, err)
	k, err := ReadKey(spki)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := k.Checks(nil); err != nil {
			b.Fatal(err)
		}
	}
}
