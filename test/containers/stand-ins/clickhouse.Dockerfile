# Stands in for the official image of ClickHouse: the library of npm's chdb, which answers on the same port with the same
# users and files of users.d and config.d. It has no Keeper and no cluster.
FROM tidemark-stand-in/node
RUN useradd --uid 101 --user-group --no-create-home clickhouse && mkdir -p /etc/clickhouse-server/users.d
COPY libchdb.so /usr/lib/libchdb.so
COPY app /app
COPY clickhouse-entrypoint.sh /entrypoint.sh
COPY clickhouse-client.sh /usr/bin/clickhouse-client
EXPOSE 8123
ENTRYPOINT ["/entrypoint.sh"]
