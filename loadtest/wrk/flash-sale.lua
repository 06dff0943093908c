-- A flash sale against a running service, for wrk (https://github.com/wg/wrk): as many orders as the service answers, and
-- some of them sent again. At the end one line of JSON tells what became of them.
--
--   curl -X PUT http://127.0.0.1:8080/v1/skus/hot -H "authorization: Bearer $ADMIN_KEY" \
--       -H 'content-type: application/json' -d '{"stock":100000,"segments":10}'
--   API_KEY=inv_… wrk --threads 2 --connections 64 --duration 10s --timeout 10s \
--       --script loadtest/wrk/flash-sale.lua http://127.0.0.1:8080 -- hot
--
-- The first argument is the SKU, which must be there. Those that may follow it, in this order:
--
--   QUANTITY   1    units of an order; 1-5 is any number from 1 to 5
--   AGAIN     10    every how many-th request sends an order again that has been sent; 0: none
--   SEED       1    decides order ids and quantities. With a SKU that has been sold from it has to be another each time,
--                   or all is sold already
--
-- The environment: API_KEY, a key of the scope buyer; without it none is shown.
--
-- wrk is a closed loop: each connection sends its next order when it has the answer to the one before. While the service
-- stands still, wrk stands still with it, and the orders that buyers would have sent meanwhile are never sent, nor timed
-- (coordinated omission). So read from wrk how much a service can do, and not how long buyers wait: for that use
-- loadtest/k6/flash-sale.js, the lab's own `flash-sale`, or wrk2 (https://github.com/giltene/wrk2), which takes this script
-- too, sends at a steady rate (-R) and times from when an order should have gone out.
--
-- wrk hangs up at the end of its time: requests that are under way then are `unheard`, and may have been served. So a SKU has
-- at least `accepted` orders of the run, and at most accepted + unheard + unknown.

-- What the service may say to an order that it does not take, by code, with the status of each. Everything else is unexpected.
local refusals = {
    sold_out = 409,
    insufficient_stock = 409,
    buyer_limit = 409,
    sale_closed = 409,
    rate_limited = 429,
    overloaded = 503,
    unavailable = 503,
}

-- The counters that are told. units: of what was accepted. unknown: the service said that it does not know whether the order was taken.
local counters = { "sent", "repeated", "accepted", "units", "replayed", "sold_out", "other", "unknown", "unexpected" }

local threads = {}

-- Each thread of wrk has globals of its own. setup and done run in one more, which can read the globals of all.

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

function init(args)
    local sku = assert(args[1], "name the SKU after --")
    least, most = (args[2] or "1"):match("^(%d+)%-?(%d*)$")
    least, most = tonumber(least), tonumber(most) or tonumber(least)
    again, seed = tonumber(args[3] or 10), tonumber(args[4] or 1)
    math.randomseed(seed * 1000 + number)
    for _, name in ipairs(counters) do _G[name] = 0 end
    orders, first_unexpected, patience = 0, "", 10
    path = string.format("/v1/skus/%s/deductions", sku)
    headers = { ["Content-Type"] = "application/json" }
    local key = os.getenv("API_KEY")
    if key then headers["Authorization"] = "Bearer " .. key end
end

-- order is the n-th order of this thread. n makes the id unique; the digits in front of it spread the ids, as those of real
-- shops are.
local function order(n)
    local digits = (seed * 7919 + number * 104729 + n) * 48271 % 0x7fffffff * 48271 % 0x7fffffff
    return string.format('{"order_id":"%08x-%d-%d-%d","quantity":%d}', digits, seed, number, n, least + digits % (most - least + 1))
end

-- deadline tells the service until when wrk waits, which is --timeout or longer: what reaches it later is not carried out.
local function deadline()
    local now = os.time()
    if now ~= told then
        told = now
        headers["Request-Deadline"] = os.date("!%Y-%m-%dT%H:%M:%SZ", now + patience)
    end
end

function request()
    deadline()
    if number == 0 and not asked then -- by wrk, which only looks at it
        asked = true
        return wrk.format("POST", path, headers, "{}")
    end
    sent = sent + 1
    if again > 0 and sent % again == 0 and orders > 0 then
        repeated = repeated + 1
        return wrk.format("POST", path, headers, order(math.random(1, orders)))
    end
    orders = orders + 1
    return wrk.format("POST", path, headers, order(orders))
end

-- outcome tells which counter an answer belongs to.
local function outcome(status, head, body)
    if status == 201 then return "accepted" end
    if status == 200 then return "replayed" end
    local code = body:match('"code":"([a-z_]+)"')
    local media = head["Content-Type"] or ""
    if refusals[code] ~= status or media:find("application/problem+json", 1, true) ~= 1 then return "unexpected" end
    if code == "sold_out" then return "sold_out" end
    if code == "unavailable" then return "unknown" end
    return "other"
end

function response(status, head, body)
    local name = outcome(status, head, body)
    _G[name] = _G[name] + 1
    if name == "accepted" then units = units + tonumber(body:match('"quantity":(%d+)')) end
    if name == "unexpected" and first_unexpected == "" then first_unexpected = status .. " " .. body end
end

local function quoted(text) return '"' .. text:gsub("%c", " "):gsub('["\\]', "\\%0") .. '"' end

function done(summary, latency)
    local sum, first, members = {}, "", {}
    for _, name in ipairs(counters) do
        sum[name] = 0
        for _, thread in ipairs(threads) do sum[name] = sum[name] + thread:get(name) end
        table.insert(members, string.format('"%s":%d', name, sum[name]))
    end
    for _, thread in ipairs(threads) do
        if first == "" then first = thread:get("first_unexpected") end
    end
    local heard = sum.accepted + sum.replayed + sum.sold_out + sum.other + sum.unknown + sum.unexpected
    local e = summary.errors
    table.insert(members, string.format('"unheard":%d,"socket_errors":%d,"timeouts":%d,"first_unexpected":%s',
        sum.sent - heard, e.connect + e.read + e.write, e.timeout, quoted(first)))
    table.insert(members, string.format('"seconds":%.3f,"p50_ms":%.3f,"p99_ms":%.3f,"max_ms":%.3f',
        summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
    io.write("\n{", table.concat(members, ","), "}\n")
end
