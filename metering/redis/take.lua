-- Takes tokens from one bucket by the generic cell rate algorithm, as metering.Bucket does.
--
-- KEYS[1]  the bucket: "seconds.nanoseconds/token", the instant at which it is full and the nanoseconds per
--          token that this was counted with. A bucket that is full is not kept.
-- ARGV     1 token; 2,3 now; 4,5 price; 6,7 span; 8,9 greatest difference of clocks;
--          and only to convert a debt: 10 the bucket as it was; 11,12 the debt in this token.
-- Returns  {1, debt before}, or {0, debt, bucket} where the debt is to be converted first.
--
-- Numbers of Lua are exact to 2^53, which is 104 days in nanoseconds. Therefore an instant or a time is a pair
-- of seconds and nanoseconds, and pairs are only added, subtracted and compared.
local SECOND = 1000000000

local function add(s, n, s2, n2)
  s, n = s + s2, n + n2
  if n >= SECOND then return s + 1, n - SECOND end
  if n < 0 then return s - 1, n + SECOND end
  return s, n
end

local function exceeds(s, n, s2, n2)
  return s > s2 or (s == s2 and n > n2)
end

local function pair(i)
  return tonumber(ARGV[i]), tonumber(ARGV[i + 1])
end

local token = ARGV[1]
local nowS, nowN = pair(2)
local priceS, priceN = pair(4)
local spanS, spanN = pair(6)
local skewS, skewN = pair(8)

local kept = redis.call('GET', KEYS[1]) or ''
local s, n, old = string.match(kept, '^(%d+)%.(%d+)/(%d+)$')
local atS, atN = nowS, nowN -- when the bucket will be full
local debtS, debtN = 0, 0
if s then
  atS, atN = tonumber(s), tonumber(n)
  debtS, debtN = add(atS, atN, -nowS, -nowN)
  local mostS, mostN = add(spanS, spanN, skewS, skewN)
  if debtS < 0 then
    debtS, debtN = 0, 0
  elseif old ~= token and (debtS > 0 or debtN > 0) then
    if kept ~= ARGV[10] then return {0, debtS, debtN, kept} end
    debtS, debtN = pair(11)
    atS, atN = add(nowS, nowN, debtS, debtN)
  elseif exceeds(debtS, debtN, mostS, mostN) then
    debtS, debtN = spanS, spanN
    atS, atN = add(nowS, nowN, debtS, debtN)
  end
end

local fullS, fullN = add(debtS, debtN, priceS, priceN)
if not exceeds(fullS, fullN, spanS, spanN) then
  atS, atN = add(nowS, nowN, fullS, fullN)
elseif s then -- refused: the debt stays, in this token
  fullS, fullN = debtS, debtN
else
  return {1, debtS, debtN}
end

local bucket = string.format('%.0f.%.0f/%s', atS, atN, token)
if bucket ~= kept then
  local ttl = (fullS + skewS) * 1000 + math.ceil((fullN + skewN) / 1000000)
  redis.call('SET', KEYS[1], bucket, 'PX', string.format('%.0f', ttl))
end
return {1, debtS, debtN}
