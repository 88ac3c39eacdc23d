#!/bin/sh
# nginx of compose.yaml: nginx.conf for $DOMAIN, by plain HTTP alone until there is a certificate.
#   nginx.sh         starts nginx
#   nginx.sh reload  reads nginx.conf and the certificate again: for certbot's hook
set -eu
site=/etc/nginx/conf.d/default.conf
sed "s/api\.example\.com/$DOMAIN/" /nginx.conf > "$site"
if [ ! -e "/etc/letsencrypt/live/$DOMAIN/fullchain.pem" ]; then
    sed -i '/^ *listen .*443/d; /^ *ssl_/d' "$site"
fi
# A kernel without IPv6 (ipv6.disable=1) has no such sockets, and nginx would not start.
if [ ! -e /proc/net/if_inet6 ]; then
    sed -i '/^ *listen \[::\]/d' "$site"
fi
if [ "${1-}" = reload ]; then
    nginx -t && exec nginx -s reload
fi
ln -sf /dev/stdout /var/log/nginx/consulting.log
exec nginx -g 'daemon off;'
