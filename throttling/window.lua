-- Counts one request in a fixed window, which begins with its first request.
-- KEYS[1]: the counter. ARGV[1]: the window in milliseconds.
-- Returns {requests in this window, this one included; milliseconds until it ends}.

local function begin_anew()
    redis.call('SET', KEYS[1], 1, 'PX', ARGV[1])
    return {1, tonumber(ARGV[1])}
end

local used = redis.pcall('INCR', KEYS[1])
if type(used) == 'table' then
    -- These errors mean that the key holds no counter. Any other error (out of memory, read-only, ...)
    -- is a failure of Redis, and is returned to the caller.
    for _, reason in ipairs({'WRONGTYPE', 'not an integer', 'overflow'}) do
        if string.find(used.err, reason, 1, true) then
            return begin_anew()
        end
    end
    return used
end

-- A counter without an expiry would refuse forever, and a negative one would allow forever, so no window
-- lasts longer than ARGV[1].
local ttl = redis.call('PTTL', KEYS[1])
if used < 1 then
    return begin_anew()
elseif ttl < 0 or ttl > tonumber(ARGV[1]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    ttl = tonumber(ARGV[1])
end
return {used, ttl}
