-- A split metric under a table id of its own. SELECT * is expanded at each query: dimensions added to the table later show.
CREATE VIEW IF NOT EXISTS {{view}} AS (SELECT * FROM {{table}} WHERE metric = {{metric}})
