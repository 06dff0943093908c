-- Sends orders of one unit each, counts the answers by their status, and prints all counts as one line of JSON.
--
-- Arguments: ids ("random" or "growing"), again (every how many-th request repeats an order id; 0: none), a file of order
-- ids to repeat, one a line ("-": those that the thread itself has sent a while ago), the id of the buyer ("new": each
-- order has one of its own, whose id is the order's; empty: none is named), how long orders are reserved (empty: they
-- are not), how many orders go in one request (0: each alone), the SKU of those that go together, and a file of SKUs, one a
-- line, of which each request has one by chance in the place of "*" in the path ("-": the path has one).
--
-- Environment: INVENTORY_API_KEY, the API key to show (empty: none).
--
-- Each thread of wrk has globals of its own; done() reads those of all threads.

local threads = {}

function setup(thread)
    thread:set("number", #threads)
    table.insert(threads, thread)
end

function init(args)
    growing, again = args[1] == "growing", tonumber(args[2])
    sent, repeats, accepted, replayed, refused, wrong, firstwrong = 0, 0, 0, 0, 0, 0, ""
    kept, own = {}, args[3] == "-"
    if not own then
        for id in io.lines(args[3]) do table.insert(kept, id) end
    end
    buyers, rest = args[4] == "new", ',"quantity":1'
    if args[4] ~= "" and not buyers then rest = ',"buyer_id":"' .. args[4] .. '"' .. rest end
    if args[5] ~= "" then rest = rest .. ',"reserve_for":"' .. args[5] .. '"' end
    rest = rest .. "}"
    together, sku = tonumber(args[6]), '{"sku":"' .. args[7] .. '",'
    seed()
    start = os.time() * 1000
    local key = os.getenv("INVENTORY_API_KEY") or ""
    local before, after = wrk.path:match("^(.-)%*(.*)$")
    first, rest_of_path, skus = "POST " .. (before or wrk.path), after or "", {}
    if args[8] ~= "-" then
        for name in io.lines(args[8]) do table.insert(skus, name) end
    end
    head = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
        (key ~= "" and "\r\nAuthorization: Bearer " .. key or "") ..
        "\r\nContent-Type: application/json\r\nContent-Length: " .. #content() .. "\r\n\r\n"
end

-- line is the beginning of a request, up to its body.
function line()
    return first .. (#skus > 0 and skus[math.random(1, #skus)] or "") .. rest_of_path .. head
end

-- content is the body of a request with a new order, or with many.
function content()
    if together == 0 then return body(orderid()) end
    local orders = {}
    for i = 1, together do orders[i] = sku .. body(orderid()):sub(2) end
    return '{"deductions":[' .. table.concat(orders, ",") .. "]}"
end

-- seed makes the ids of all threads and runs differ.
function seed()
    local random = io.open("/dev/urandom", "rb")
    local a, b, c, d = random:read(4):byte(1, 4)
    random:close()
    math.randomseed(((a * 256 + b) * 256 + c) * 256 + d)
end

function body(id)
    if buyers then return '{"order_id":"' .. id .. '","buyer_id":"' .. id .. '"' .. rest end
    return '{"order_id":"' .. id .. '"' .. rest
end

-- orderid makes a UUID: of version 4, or one of version 7 that is greater than those before.
function orderid()
    local tail = string.format("%04x%08x", math.random(0, 0xffff), math.random(0, 0xffffffff))
    if growing then
        local turn = sent * 2 + number -- there are two threads, which take turns
        return string.format("%08x-%04x-7%03x-8%03x-%s", math.floor(start / 0x10000), start % 0x10000,
            math.floor(turn / 0x1000) % 0x1000, turn % 0x1000, tail)
    end
    return string.format("%08x-%04x-4%03x-%04x-%s", math.random(0, 0xffffffff), math.random(0, 0xffff),
        math.random(0, 0xfff), math.random(0x8000, 0xbfff), tail)
end

-- repeated picks an order id that was sent before, nil where there is none yet. Of its own the thread keeps one id in
-- a hundred, and leaves out the newest, whose answers may be under way.
function repeated()
    local old = own and #kept - 10 or #kept
    if old < 1 then return nil end
    return kept[math.random(1, old)]
end

function request()
    if number == 0 and not asked then -- by wrk, which only wants to see what a request is
        asked = true
        return line() .. content()
    end
    if together > 0 then
        sent = sent + together
        return line() .. content()
    end
    local id
    sent = sent + 1
    if again > 0 and sent % again == 0 then
        id = repeated()
        if id then repeats = repeats + 1 end
    end
    if not id then
        id = orderid()
        if own and again > 0 and sent % 100 == 50 then table.insert(kept, id) end
    end
    return line() .. body(id)
end

function response(status, _, answer)
    if together > 0 then
        local _, sold = answer:gsub('{"status":201,', "")
        accepted, wrong = accepted + sold, wrong + together - sold
        if sold < together and firstwrong == "" then firstwrong = status .. " " .. answer:sub(1, 500) end
    elseif status == 201 then
        accepted = accepted + 1
    elseif status == 200 then
        replayed = replayed + 1
    elseif status == 409 and (answer:find('"code":"sold_out"', 1, true) or answer:find('"code":"buyer_limit"', 1, true)) then
        refused = refused + 1
    else
        wrong = wrong + 1
        if wrong == 1 then firstwrong = status .. " " .. answer end
    end
end

local function quoted(text) return '"' .. text:gsub('[%c"\\]', " ") .. '"' end

function done(summary, latency, requests)
    local sum, first = { sent = 0, repeats = 0, accepted = 0, replayed = 0, refused = 0, wrong = 0 }, ""
    for _, thread in ipairs(threads) do
        for name, n in pairs(sum) do sum[name] = n + thread:get(name) end
        if first == "" then first = thread:get("firstwrong") end
    end
    local e = summary.errors
    io.write(string.format(
        '\nresult {"sent":%d,"repeated":%d,"accepted":%d,"replayed":%d,"refused":%d,"wrong":%d,"first_wrong":%s,' ..
        '"connect_errors":%d,"read_errors":%d,"write_errors":%d,"timeouts":%d,' ..
        '"microseconds":%d,"p50_us":%d,"p99_us":%d,"max_us":%d}\n',
        sum.sent, sum.repeats, sum.accepted, sum.replayed, sum.refused, sum.wrong, quoted(first),
        e.connect, e.read, e.write, e.timeout,
        summary.duration, latency:percentile(50), latency:percentile(99), latency.max))
end
