-- One request in a fixed window that begins with its first request.
-- KEYS[1]: the counter. ARGV[1]: the window in milliseconds.
-- Returns {requests in this window, this one included; milliseconds until it ends}.

local function begin_anew()
    redis.call('SET', KEYS[1], 1, 'PX', ARGV[1])
    return {1, tonumber(ARGV[1])}
end

local used = redis.pcall('INCR', KEYS[1])
if type(used) == 'table' then
    -- The key does not hold a counter. Any other error (out of memory, read-only, ...) is one of the
    -- store, and is returned to the caller.
    for _, reason in ipairs({'WRONGTYPE', 'not an integer', 'overflow'}) do
        if string.find(used.err, reason, 1, true) then
            return begin_anew()
        end
    end
    return used
end

-- No window lasts longer than ARGV[1]: a counter without an expiry would refuse forever, and a negative
-- one would allow forever.
local left = redis.call('PTTL', KEYS[1])
if used < 1 then
    return begin_anew()
elseif left < 0 or left > tonumber(ARGV[1]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    left = tonumber(ARGV[1])
end
return {used, left}
