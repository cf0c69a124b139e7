// Written by `make docs` from schemas/openapi/admin.json.
export interface paths {
    "/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates a custom report with its data source, time series group, result table and token
         * @description Needs the role editor.
         */
        post: operations["monitor_web.custom_report.resources.CreateCustomTimeSeries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/metadata.resources.resources.CreateDataIDResource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates only a data source, with its data id and token
         * @description Needs the role editor.
         */
        post: operations["metadata.resources.resources.CreateDataIDResource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/metadata.resources.resources.CreateTimeSeriesGroupResource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates the time series group of a data source that has none
         * @description Needs the role editor.
         */
        post: operations["metadata.resources.resources.CreateTimeSeriesGroupResource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/metadata.models.result_table.ResultTable.create_result_table": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates the result table of a group that has none, and the table in QuestDB
         * @description Needs the role editor.
         */
        post: operations["metadata.models.result_table.ResultTable.create_result_table"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists reports by ascending id
         * @description Needs the role viewer.
         */
        get: operations["get_custom_reports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a report
         * @description Needs the role viewer.
         */
        get: operations["get_custom_reports_by_id"];
        put?: never;
        post?: never;
        /**
         * Deletes a report and frees its name; its rows stay; cannot be undone
         * @description Needs the role editor.
         */
        delete: operations["delete_custom_reports_by_id"];
        options?: never;
        head?: never;
        /**
         * Changes fields of a report, and of its records with it (JSON merge patch)
         * @description Needs the role editor.
         */
        patch: operations["patch_custom_reports_by_id"];
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a report with its data source, group and table
         * @description Needs the role viewer.
         */
        get: operations["get_custom_reports_by_id_records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of the report's three records to true
         * @description Needs the role editor.
         */
        post: operations["post_custom_reports_by_id_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of the report's three records to false
         * @description Needs the role editor.
         */
        post: operations["post_custom_reports_by_id_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deletes a report and drops its table with all rows; table_id confirms it
         * @description Needs the role admin.
         */
        post: operations["post_custom_reports_by_id_purge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists data sources by ascending data id
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a data source
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Changes fields of a data source (JSON merge patch)
         * @description Needs the role editor.
         */
        patch: operations["patch_data_sources_by_id"];
        trace?: never;
    };
    "/api/v1/data-sources/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this data source to true
         * @description Needs the role editor.
         */
        post: operations["post_data_sources_by_id_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this data source to false
         * @description Needs the role editor.
         */
        post: operations["post_data_sources_by_id_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drops the table of a data source without a report, with all rows
         * @description Needs the role admin.
         */
        post: operations["post_data_sources_by_id_purge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/time-series-groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists time series groups by ascending data id
         * @description Needs the role viewer.
         */
        get: operations["get_time_series_groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/time-series-groups/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a time series group
         * @description Needs the role viewer.
         */
        get: operations["get_time_series_groups_by_id"];
        put?: never;
        post?: never;
        /**
         * Deletes a group without a report; cannot be undone
         * @description Needs the role editor.
         */
        delete: operations["delete_time_series_groups_by_id"];
        options?: never;
        head?: never;
        /**
         * Changes fields of a group (JSON merge patch)
         * @description Needs the role editor.
         */
        patch: operations["patch_time_series_groups_by_id"];
        trace?: never;
    };
    "/api/v1/time-series-groups/{id}/columns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists received metrics and dimensions, with their columns
         * @description Needs the role viewer.
         */
        get: operations["get_time_series_groups_by_id_columns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/time-series-groups/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this time series group to true
         * @description Needs the role editor.
         */
        post: operations["post_time_series_groups_by_id_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/time-series-groups/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this time series group to false
         * @description Needs the role editor.
         */
        post: operations["post_time_series_groups_by_id_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/result-tables": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists result tables by ascending data id
         * @description Needs the role viewer.
         */
        get: operations["get_result_tables"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/result-tables/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a result table
         * @description Needs the role viewer.
         */
        get: operations["get_result_tables_by_id"];
        put?: never;
        post?: never;
        /**
         * Deletes the record of a table without a report; the rows stay; cannot be undone
         * @description Needs the role editor.
         */
        delete: operations["delete_result_tables_by_id"];
        options?: never;
        head?: never;
        /**
         * Changes fields of a result table's record (JSON merge patch)
         * @description Needs the role editor.
         */
        patch: operations["patch_result_tables_by_id"];
        trace?: never;
    };
    "/api/v1/result-tables/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this result table to true
         * @description Needs the role editor.
         */
        post: operations["post_result_tables_by_id_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/result-tables/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sets is_enable of only this result table to false
         * @description Needs the role editor.
         */
        post: operations["post_result_tables_by_id_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/placements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the QuestDB instance of each table, by ascending data id
         * @description Needs the role viewer.
         */
        get: operations["get_placements"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists applications by ascending id
         * @description Needs the role viewer.
         */
        get: operations["get_applications"];
        put?: never;
        /**
         * Creates an application with its write token
         * @description Needs the role editor.
         */
        post: operations["post_applications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows an application
         * @description Needs the role viewer.
         */
        get: operations["get_applications_by_id"];
        put?: never;
        post?: never;
        /**
         * Deletes an application and frees its name; cannot be undone
         * @description Needs the role editor.
         */
        delete: operations["delete_applications_by_id"];
        options?: never;
        head?: never;
        /**
         * Changes fields of an application (JSON merge patch)
         * @description Needs the role editor.
         */
        patch: operations["patch_applications_by_id"];
        trace?: never;
    };
    "/api/v1/applications/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accepts traces, logs and metrics of an application again
         * @description Needs the role editor.
         */
        post: operations["post_applications_by_id_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refuses traces, logs and metrics of an application
         * @description Needs the role editor.
         */
        post: operations["post_applications_by_id_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/rotate-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issues a new token; the previous token stays valid for overlap_seconds
         * @description Needs the role editor.
         */
        post: operations["post_data_sources_by_id_rotate_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/reveal-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shows the token; the audit log records it
         * @description Needs the role editor.
         */
        post: operations["post_data_sources_by_id_reveal_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/rotate-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issues a new token; the previous token stays valid for overlap_seconds. The ETag is that of the data source
         * @description Needs the role editor.
         */
        post: operations["post_custom_reports_by_id_rotate_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custom-reports/{id}/reveal-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shows the token; the audit log records it. The ETag is that of the data source
         * @description Needs the role editor.
         */
        post: operations["post_custom_reports_by_id_reveal_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/rotate-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issues a new token; the previous token stays valid for overlap_seconds
         * @description Needs the role editor.
         */
        post: operations["post_applications_by_id_rotate_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/reveal-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shows the token; the audit log records it
         * @description Needs the role editor.
         */
        post: operations["post_applications_by_id_reveal_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the effective policy: windows, limits, retention
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id_policy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Changes a policy (JSON merge patch): "off" = no limit, null = the value of the pipeline file
         * @description Needs the role editor.
         */
        patch: operations["patch_data_sources_by_id_policy"];
        trace?: never;
    };
    "/api/v1/applications/{id}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the effective policy: windows, limits, retention
         * @description Needs the role viewer.
         */
        get: operations["get_applications_by_id_policy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Changes a policy (JSON merge patch): "off" = no limit, null = the value of the pipeline file
         * @description Needs the role editor.
         */
        patch: operations["patch_applications_by_id_policy"];
        trace?: never;
    };
    "/api/v1/defaults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows what holds where a record has no value of its own: the rate behind max_rate -1, and the fields of policies but their retention
         * @description Needs the role viewer.
         */
        get: operations["get_defaults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/retention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows how long points are kept, what is stored, and what another retention would remove
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id_retention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/retention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows how long items of an application are kept, what is stored, and what another retention would remove
         * @description Needs the role viewer.
         */
        get: operations["get_applications_by_id_retention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/metadata.task.custom_report.refresh_custom_report_2_node_man": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs the refresh job, after the current run if there is one, and returns the record
         * @description Needs the role editor.
         */
        post: operations["metadata.task.custom_report.refresh_custom_report_2_node_man"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/refresh-runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the last hundred runs, newest first
         * @description Needs the role viewer.
         */
        get: operations["get_refresh_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/refresh-runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a run
         * @description Needs the role viewer.
         */
        get: operations["get_refresh_runs_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the subscriptions of node management by ascending data id, without their tokens
         * @description Needs the role viewer.
         */
        get: operations["get_subscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the subscription of a data id, its token masked
         * @description Needs the role viewer.
         */
        get: operations["get_subscriptions_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/outcomes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Outcomes of acknowledged items; by default of the last hour
         * @description Needs the role viewer.
         */
        get: operations["get_outcomes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/drops": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Samples of dropped items and refused requests, newest first. /api/v1/drops/live streams them without an end: newline-delimited JSON, filtered by data_id, app_id and reason
         * @description Needs the role viewer.
         */
        get: operations["get_drops"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/line": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The line with its rates, streams, stores, processes, troubles and the account of the last hour. /api/v1/live?topics=line,drops:<data_id>,drops:app:<app_id>,dead_letters streams it each second as server-sent events, without an end
         * @description Needs the role viewer.
         */
        get: operations["get_line"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every process that sent a pulse in the last two minutes, with its rates of each second
         * @description Needs the role viewer.
         */
        get: operations["get_processes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runbook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The entries of the runbook, one for each alarm, in the order of the document
         * @description Needs the role viewer.
         */
        get: operations["get_runbook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runbook/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an alarm means and what to do about it
         * @description Needs the role viewer.
         */
        get: operations["get_runbook_by_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/differences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Differences between the books, and between the books and the stores, the newest first
         * @description Needs the role viewer.
         */
        get: operations["get_account_differences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/differences/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Closes the open differences of an owner with their present figures; a larger figure opens one again
         * @description Needs the role editor.
         */
        post: operations["post_account_differences_close"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/stores": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compares QuestDB and ClickHouse with the records: rows and sums of uids by owner and event day
         * @description Needs the role viewer.
         */
        get: operations["get_account_stores"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Usage of the receivers in a period; by default of the last day
         * @description Needs the role viewer.
         */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage/silent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Enabled data ids and applications that were seen on seven days in a row, and then not for a day or more
         * @description Needs the role viewer.
         */
        get: operations["get_usage_silent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage/failing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Senders whose requests failed authorisation in several hours; by default of the last week
         * @description Needs the role viewer.
         */
        get: operations["get_usage_failing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage/disk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Bytes on the disks by owner or day, what a day adds, and when each disk is full
         * @description Needs the role viewer.
         */
        get: operations["get_usage_disk"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the dead letters, newest first; a short page may have a cursor, too
         * @description Needs the role viewer.
         */
        get: operations["get_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a dead letter with its bytes in readable form, truncated; values under names of secrets are masked
         * @description Needs the role viewer.
         */
        get: operations["get_dead_letters_by_id"];
        put?: never;
        post?: never;
        /**
         * Purges a dead letter for ever; its items count as dropped by purged_by_operator
         * @description Needs the role admin.
         */
        delete: operations["delete_dead_letters_by_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead-letters/redrive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redrives matching dead letters, oldest first; each is removed once its stream has stored it
         * @description Needs the role editor.
         */
        post: operations["post_dead_letters_redrive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead-letters/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Purges matching dead letters for ever; their items count as dropped by purged_by_operator
         * @description Needs the role admin.
         */
        post: operations["post_dead_letters_purge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead-letters/{id}/redrive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redrives a dead letter; it is removed once its stream has stored it
         * @description Needs the role editor.
         */
        post: operations["post_dead_letters_by_id_redrive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/consumers/{pipeline}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resumes a stopped consumer (too many items went to the dead letters) in every transfer process
         * @description Needs the role editor.
         */
        post: operations["post_consumers_by_pipeline_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a data source sends: its state, last sender, counts by minute, newest refusals and limits. With `since` it shows the first item, stored or refused, about a second after it came
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id_activity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What an application sends: its state, last sender, counts by minute, newest refusals and limits. With `since` it shows the first item, stored or refused, about a second after it came
         * @description Needs the role viewer.
         */
        get: operations["get_applications_by_id_activity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/table": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the table of a data source in QuestDB: rows, bytes, days, lag, and whether it is suspended
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id_table"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/cardinality": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts the distinct values of each dimension, today and the day before, and the columns against their limits. A count takes 8 seconds at most
         * @description Needs the role viewer.
         */
        get: operations["get_data_sources_by_id_cardinality"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stores": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the QuestDB instances with their suspended tables, and parts, merges and disks of ClickHouse
         * @description Needs the role viewer.
         */
        get: operations["get_stores"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reasons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists every reason with its stage, meaning, remedy and who can fix it; a code may have several rows
         * @description Needs the role viewer.
         */
        get: operations["get_reasons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Checks the dependencies that metadata reaches: NATS with its streams, QuestDB, ClickHouse, clocks, the books. It changes nothing and sends no items; `tidemark doctor` does. Calls at the same time share one run
         * @description Needs the role viewer.
         */
        post: operations["post_doctor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the settings of this metadata process with the source of each; secrets are hidden
         * @description Needs the role admin.
         */
        get: operations["get_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/snippets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows what a producer runs to send its first item, with addresses and id, and <token> for the token
         * @description Needs the role viewer.
         */
        get: operations["get_snippets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/data-sources/{id}/reveal-snippets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shows the same snippets with the token; the audit log records it like reveal-token
         * @description Needs the role editor.
         */
        post: operations["post_data_sources_by_id_reveal_snippets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/applications/{id}/reveal-snippets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Shows the same snippets with the token; the audit log records it like reveal-token
         * @description Needs the role editor.
         */
        post: operations["post_applications_by_id_reveal_snippets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/points": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Series of stored metrics, at most 20 of 600 buckets, or the last 50 rows; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_points"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/points/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Values of a dimension, those with most rows first; by default of the last hour
         * @description Needs the role viewer.
         */
        get: operations["get_query_points_values"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/traces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Traces with a span that fulfils all conditions together, the newest such span first; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_traces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/traces/services": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Services and the names of their spans, those with most spans first; by default of the last hour
         * @description Needs the role viewer.
         */
        get: operations["get_traces_services"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/traces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The spans of a trace by their start, at most 10,000
         * @description Needs the role viewer.
         */
        get: operations["get_traces_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/red": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Requests, errors and durations of services or operations, computed from spans; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_red"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log records that fulfil all conditions, the newest first; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_logs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Metrics of OpenTelemetry with the number of their series, those with most first; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_metrics"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/metrics/last": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The last value of each series of a gauge or a sum, the latest first; by default of the last hour
         * @description Needs the role viewer.
         */
        post: operations["post_query_metrics_last"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists changes with their actors, newest first; a short page may have a cursor, too
         * @description Needs the role viewer.
         */
        get: operations["get_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows one entry of the audit log
         * @description Needs the role viewer.
         */
        get: operations["get_audit_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the tokens of this API, without their values
         * @description Needs the role admin.
         */
        get: operations["get_admin_tokens"];
        put?: never;
        /**
         * Issues a token of this API, shown only once; a node token only polls subscriptions
         * @description Needs the role admin.
         */
        post: operations["post_admin_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin-tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows a token of this API, without its value
         * @description Needs the role admin.
         */
        get: operations["get_admin_tokens_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin-tokens/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revokes a token of this API for ever
         * @description Needs the role admin.
         */
        post: operations["post_admin_tokens_by_id_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All records as one document, with their tokens
         * @description Needs the role admin.
         */
        get: operations["get_export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Imports the records of an exported document; refused as a whole if other records have the same ids; an unused demo gives way
         * @description Needs the role admin.
         */
        post: operations["post_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/console-links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a link that logs in to the console as the caller, once, within 60 s
         * @description Needs the role viewer.
         */
        post: operations["post_console_links"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{biz}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the files of the collectors of a business, with their access tokens
         * @description Needs a node token of the business, or of all businesses. With a token of all, business 0 has the files of all. Remove files that are no longer listed.
         */
        get: operations["get_node_subscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        CreatedReport: {
            time_series_group_id: number;
            mon_data_id: number;
            custom_report: components["schemas"]["CustomReport"];
            data_source: components["schemas"]["CreatedDataSource"];
            time_series_group: components["schemas"]["TimeSeriesGroup"];
            result_table: components["schemas"]["ResultTable"];
        };
        CustomReport: {
            /** @description Its own id, in paths. */
            custom_report_id: number;
            /** @description The business; 0 is the platform, below 0 are spaces that are no business. */
            mon_biz_id: number;
            /** @description Its name, unique within the business among reports that are not deleted. */
            name: string;
            /** @description Its subject, from the label vocabulary: the label of its group and its table. */
            scenario: string;
            /** @description The data_label of its table. */
            data_label: string;
            /** @description Information only. */
            description: string;
            /** @description false: one row per point with a column per metric. true: one row per metric, and a view per metric with its own name. */
            is_split_measurement: boolean;
            /** @description true: its three records belong to business 0 and to all spaces. */
            is_platform: boolean;
            /**
             * @description creating until all records and the table exist, then active; deleted; purging until the table is dropped, then purged.
             * @enum {string}
             */
            state: "creating" | "active" | "deleted" | "purging" | "purged";
            /** @description The data id: producers send it, and the name of the table contains it. Never used again. */
            mon_data_id: number;
            /** @description The id of its group. */
            time_series_group_id: number;
            /** @description The name of the QuestDB table. `mon` is TIDEMARK_TABLE_PREFIX. Tables of business 0 and of platform reports have no business in front, see below. */
            table_id: string;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
        };
        CreatedDataSource: {
            /** @description The data id: producers send it, and the name of the table contains it. Never used again. */
            mon_data_id: number;
            /** @description The write token */
            token: string;
            /** @description Its unique name, built from the business and the requested name. */
            data_name: string;
            /** @description Information only. */
            data_description: string;
            /** @description The JetStream cluster that its points go through; there is one. */
            mq_cluster_id: number;
            /** @description The stream in that cluster; there is one for metrics. */
            mq_config_id: number;
            /** @description Format of its points; the only one. */
            etl_config: string;
            /** @description Information only: external producers send to it. */
            is_custom_source: boolean;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
            /** @description Type of its data; the only supported type. */
            type_label: string;
            /** @description Origin of its data; the only supported origin. */
            source_label: string;
            /** @description Information only; lists can be filtered by it. */
            custom_label: string | null;
            /** @description Information only: the system that requested it. */
            source_system: string;
            /** @description false: its pushes are refused. Points that are already in the stream are stored. */
            is_enable: boolean;
            /** @description The group of transfer processes that stores its points; there is one group. */
            transfer_cluster_id: string;
            /** @description true: it belongs to business 0, whose space is all of them. */
            is_platform_data_id: boolean;
            /** @description The part of space_uid before `__`. */
            space_type_id: string;
            /** @description The space that owns it: that of the business, `all__0` of the platform, or the given one where the business is below 0, see below. */
            space_uid: string;
        };
        TimeSeriesGroup: {
            /** @description The data id: producers send it, and the name of the table contains it. Never used again. */
            mon_data_id: number;
            /** @description The business; 0 is the platform, below 0 are spaces that are no business. */
            mon_biz_id: number;
            /** @description The name of the QuestDB table. `mon` is TIDEMARK_TABLE_PREFIX. Tables of business 0 and of platform reports have no business in front, see below. */
            table_id: string;
            /** @description Push requests per second that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none. */
            max_rate: number;
            /** @description Its subject, from the label vocabulary; information only. The scenario of its report. */
            label: string;
            /** @description false: pushes of its data id are refused. */
            is_enable: boolean;
            /** @description true, for ever: pushes of its data id are refused, and its name is free again. */
            is_delete: boolean;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
            /** @description false: one row per point with a column per metric. true: one row per metric, and a view per metric with its own name. */
            is_split_measurement: boolean;
            /** @description Its own id, in paths. */
            time_series_group_id: number;
            /** @description Its name, unique within the business. */
            time_series_group_name: string;
        };
        ResultTable: {
            /** @description The name of the QuestDB table. `mon` is TIDEMARK_TABLE_PREFIX. Tables of business 0 and of platform reports have no business in front, see below. */
            table_id: string;
            /** @description Its name for people. */
            table_name_zh: string;
            /** @description Information only: the table of a custom report. */
            is_custom_table: boolean;
            /** @description The points define the columns; the only schema type. */
            schema_type: string;
            /** @description The database of the rows; the only one. */
            default_storage: string;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
            /** @description The business; 0 is the platform, below 0 are spaces that are no business. */
            mon_biz_id: number;
            /** @description true, for ever: pushes of its data id are refused. The rows stay until a purge. */
            is_deleted: boolean;
            /** @description false: pushes of its data id are refused. Its rows stay readable. */
            is_enable: boolean;
            /** @description Its subject, from the label vocabulary; information only. The scenario of its report. */
            label: string;
            /** @description Names for queries, separated by commas; no effect on routing. */
            data_label: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            code: string;
            field?: string;
            remedy?: string;
        };
        ReportRecords: {
            custom_report: components["schemas"]["CustomReport"];
            data_source?: components["schemas"]["DataSource"];
            time_series_group?: components["schemas"]["TimeSeriesGroup"];
            result_table?: components["schemas"]["ResultTable"];
        };
        DataSource: {
            /** @description The data id: producers send it, and the name of the table contains it. Never used again. */
            mon_data_id: number;
            /** @description The write token, masked */
            token: string;
            /** @description Its unique name, built from the business and the requested name. */
            data_name: string;
            /** @description Information only. */
            data_description: string;
            /** @description The JetStream cluster that its points go through; there is one. */
            mq_cluster_id: number;
            /** @description The stream in that cluster; there is one for metrics. */
            mq_config_id: number;
            /** @description Format of its points; the only one. */
            etl_config: string;
            /** @description Information only: external producers send to it. */
            is_custom_source: boolean;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
            /** @description Type of its data; the only supported type. */
            type_label: string;
            /** @description Origin of its data; the only supported origin. */
            source_label: string;
            /** @description Information only; lists can be filtered by it. */
            custom_label: string | null;
            /** @description Information only: the system that requested it. */
            source_system: string;
            /** @description false: its pushes are refused. Points that are already in the stream are stored. */
            is_enable: boolean;
            /** @description The group of transfer processes that stores its points; there is one group. */
            transfer_cluster_id: string;
            /** @description true: it belongs to business 0, whose space is all of them. */
            is_platform_data_id: boolean;
            /** @description The part of space_uid before `__`. */
            space_type_id: string;
            /** @description The space that owns it: that of the business, `all__0` of the platform, or the given one where the business is below 0, see below. */
            space_uid: string;
        };
        Column: {
            name: string;
            column: string;
            /** @enum {string} */
            kind: "metric" | "dimension";
            first_seen: number;
            /** @description Written at most once an hour while the name is in use, Unix seconds */
            last_seen: number;
            /** @description Values go to more_dimensions since then, Unix seconds; absent: they do not */
            full_since?: number;
        };
        Placement: {
            mon_data_id: number;
            table_id: string;
            /** @description The QuestDB instance */
            questdb: string;
        };
        Application: {
            /** @description Its own id, in paths. */
            app_id: number;
            /** @description The business; 0 is the platform, below 0 are spaces that are no business. */
            mon_biz_id: number;
            /** @description Its name, unique within the business among applications that are not deleted. */
            app_name: string;
            /** @description The write token, masked */
            token: string;
            /** @description false: its traces, logs and metrics are refused. */
            is_enable: boolean;
            /** @description true, for ever: its traces, logs and metrics are refused, and its name is free again. */
            is_delete: boolean;
            /** @description Requests of OTLP per second, of all signals together, that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none. */
            max_rate: number;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
        };
        CreatedApplication: {
            /** @description Its own id, in paths. */
            app_id: number;
            /** @description The business; 0 is the platform, below 0 are spaces that are no business. */
            mon_biz_id: number;
            /** @description Its name, unique within the business among applications that are not deleted. */
            app_name: string;
            /** @description The write token */
            token: string;
            /** @description false: its traces, logs and metrics are refused. */
            is_enable: boolean;
            /** @description true, for ever: its traces, logs and metrics are refused, and its name is free again. */
            is_delete: boolean;
            /** @description Requests of OTLP per second, of all signals together, that the whole cluster accepts: -1 the platform default (1000), 0 unlimited, below -1 none. */
            max_rate: number;
            /** @description Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator. */
            creator: string;
            /** @description When the record was created, Unix seconds. */
            create_time: number;
            /** @description Who changed the record last, in the same form. */
            last_modify_user: string;
            /** @description When the record was changed last, Unix seconds. */
            last_modify_time: number;
        };
        RotatedToken: {
            /** @description The write token */
            token: string;
            previous_expires_at: number;
        };
        RevealedToken: {
            /** @description The write token */
            token: string;
            previous: {
                /** @description The write token */
                token: string;
                expires_at: number;
            } | null;
        };
        Policy: {
            policy: {
                [key: string]: number | boolean | ("off" | "by_signal");
            };
            /** @description Of an application: what holds for each of its signals, by pipeline. In `policy`, `by_signal` stands where they differ */
            signals?: {
                [key: string]: {
                    [key: string]: number | boolean | ("off" | "by_signal");
                };
            };
            own: string[];
        };
        DeploymentDefault: {
            /** @description off: no limit; by_signal: the signals of an application differ */
            value: number | boolean | ("off" | "by_signal");
            /** @description Where metadata has it from: the variable, the place in the settings file, `tidemark up`, `default`, or the pipeline files */
            origin: string;
        };
        Retention: {
            /** @description null: kept for ever */
            retention_days: number | null;
            /**
             * @description policy: it was set here; creation: the default when the owner was created; pipelines: the file of the signal in pipelines/, as traces.yaml, where that is shorter; none: kept for ever
             * @enum {string}
             */
            origin: "policy" | "creation" | "pipelines" | "none";
            /** @description Of an application: each signal, of which the shortest is above. [] of a data id: it has points alone */
            signals: {
                /** @enum {string} */
                pipeline: "traces" | "logs" | "otel_metrics";
                /** @description null: kept for ever */
                retention_days: number | null;
                /**
                 * @description policy: it was set here; creation: the default when the owner was created; pipelines: the file of the signal in pipelines/, as traces.yaml, where that is shorter; none: kept for ever
                 * @enum {string}
                 */
                origin: "policy" | "creation" | "pipelines" | "none";
            }[];
            /** @description Days with rows */
            days: number;
            rows: number;
            /** @description On the disk; of items of applications, their share of the day */
            bytes: number;
            oldest_day: string | null;
            newest_day: string | null;
            /** @description What a change to `days` would remove for ever; null where none is asked for */
            change: {
                retention_days: number | null;
                /** @description The first day that is kept; null: all */
                kept_from: string | null;
                /** @description Days with rows */
                days: number;
                rows: number;
                /** @description On the disk; of items of applications, their share of the day */
                bytes: number;
            } | null;
        };
        RefreshRun: {
            run_id: number;
            /** @enum {string} */
            trigger: "schedule" | "manual";
            /** @enum {string} */
            state: "running" | "done" | "interrupted";
            started: number;
            finished: number | null;
            duration_ms: number | null;
            created: number;
            updated: number;
            unchanged: number;
            deleted: number;
            failed_count: number;
            failed: {
                mon_data_id: number;
                report: string;
                error: string;
            }[];
        };
        Subscription: {
            subscription_id: number | null;
            mon_data_id: number;
            custom_report_id: number | null;
            mon_biz_id: number;
            /** @enum {string} */
            adapter: "polling" | "http";
            md5: string;
            params_md5: string;
            document: string;
            /** @enum {string} */
            state: "creating" | "installing" | "active" | "deleting";
            created: number;
            updated: number;
            previous?: {
                md5: string;
                expires_at: number;
            };
        };
        Difference: {
            /** @enum {string} */
            kind: "lost_in_the_stream" | "lost_by_the_engine" | "not_counted" | "stuck" | "orphan" | "missing_in_the_store" | "unrecorded" | "unmerged" | "not_known";
            items: number;
            messages: number;
            /** @description Of `not_known`: empty while the books cannot be compared, LEDGER while their lines wait there, else the stream of the owner */
            stream: string;
            /** @description Data ids or applications; none where the owner is not known */
            owners: number[];
            /** @description Unix seconds: the first minute of the arrival */
            from: number;
            /** @description Unix seconds: the end of the last one */
            until: number;
            /** @description False: an operator has closed it */
            is_open: boolean;
            /** @description Why it was closed; empty where it was not. Of `not_known`: `cannot be read` where the stream itself is not */
            reason: string;
        };
        Balance: {
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            /** @description 0 for an application */
            data_id: number;
            /** @description 0 for points */
            app_id: number;
            /** @description Unix seconds: start of the minute, hour or day; null for the sum over the whole time */
            minute: number | null;
            /** @description Items that the streams confirmed to receivers = stored + dead_lettered + all dropped + repeated + lost + stuck + unrecorded + in_flight */
            received: number;
            stored: number;
            dead_lettered: number;
            /** @description By reason */
            dropped: {
                [key: string]: number;
            };
            /** @description Items of messages that were settled again under the same key */
            repeated: number;
            lost: number;
            stuck: number;
            unrecorded: number;
            /** @description Received and not settled yet */
            in_flight: number;
            /** @description False while a loss, an excess or a stuck difference is open; null while the books cannot be compared, lines of them wait in LEDGER, or rows in its store cannot be read */
            adds_up: boolean | null;
            differences: components["schemas"]["Difference"][];
            /** @description Outside the balance, best effort: refused requests, duplicates and dropped values */
            refusals: {
                /** @enum {string} */
                kind: "refused" | "duplicate" | "value_lost";
                reason: string;
                requests: number;
                items: number;
            }[];
        };
        RemovedRows: {
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            data_id: number;
            app_id: number;
            /** @description A purge has removed its rows, or is removing them */
            purged: boolean;
            /** @description Rows of event days (UTC) before this one may have been removed by the retention; null where the period has no such day */
            expired_before: string | null;
        };
        OutcomeBucket: {
            /** @description Unix seconds: start of the minute, hour or day (UTC) */
            at: number;
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            /** @description Settled items = stored + dead_lettered + all dropped */
            received: number;
            stored: number;
            dead_lettered: number;
            /** @description By reason */
            dropped: {
                [key: string]: number;
            };
            /** @description Outside the balance, best effort: refused requests, duplicates and dropped values */
            refusals: {
                /** @enum {string} */
                kind: "refused" | "duplicate" | "value_lost";
                reason: string;
                requests: number;
                items: number;
            }[];
        };
        StreamInFlight: {
            stream: string;
            messages: number;
            bytes: number;
            bytes_max: number;
            /** @description Messages that workers hold, a part of `messages` */
            ack_pending: number;
        };
        Drop: {
            /** @description Unix seconds to the millisecond */
            at: number;
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            /** @description 0 for an application, and for requests without a valid token */
            data_id: number;
            /** @description 0 for points, and for requests without a valid token */
            app_id: number;
            stage: string;
            reason: string;
            /** @description Index in the request; -1 for the whole request */
            ordinal: number;
            field: string;
            value: string;
            detail: string;
            /** @description The item as received, redacted, at most 1 KiB */
            payload: string;
            /** @description X-Request-Id of the answer; empty for samples of transfer */
            request: string;
            sender: string;
            sdk: string;
        };
        Line: {
            /** @description Unix seconds to the millisecond */
            at: number;
            nats_connected: boolean;
            /** @description The most urgent first, at most 50 */
            troubles: components["schemas"]["Trouble"][];
            totals: {
                accepted_items_per_second: number;
                accepted_bytes_per_second: number;
                refused_requests_per_second: number;
                stored_items_per_second: number;
                /** @description At the receivers and in transfer */
                dropped_items_per_second: number;
                dead_lettered_items_per_second: number;
            };
            nodes: {
                id: string;
                /** @enum {string} */
                kind: "producers" | "receiver" | "stream" | "transfer" | "store" | "dead_letters";
                name: string;
            }[];
            edges: {
                from: string;
                to: string;
                /** @description null where nobody counts them */
                items_per_second: number | null;
                bytes_per_second: number | null;
            }[];
            streams: components["schemas"]["StreamOnTheLine"][];
            stores: {
                /** @enum {string} */
                store: "questdb" | "clickhouse";
                instance: string;
                /** @description null: not known yet */
                ready: boolean | null;
                why: string | null;
            }[];
            processes: components["schemas"]["Process"][];
            /** @description The last hour, from both books: received = the sum of all other terms. null before its first reading */
            account: {
                since: number;
                until: number;
                metrics: {
                    received: number;
                    stored: number;
                    dropped: number;
                    dead_lettered: number;
                    repeated: number;
                    lost: number;
                    stuck: number;
                    unrecorded: number;
                    in_flight: number;
                };
                traces: {
                    received: number;
                    stored: number;
                    dropped: number;
                    dead_lettered: number;
                    repeated: number;
                    lost: number;
                    stuck: number;
                    unrecorded: number;
                    in_flight: number;
                };
                logs: {
                    received: number;
                    stored: number;
                    dropped: number;
                    dead_lettered: number;
                    repeated: number;
                    lost: number;
                    stuck: number;
                    unrecorded: number;
                    in_flight: number;
                };
                otel_metrics: {
                    received: number;
                    stored: number;
                    dropped: number;
                    dead_lettered: number;
                    repeated: number;
                    lost: number;
                    stuck: number;
                    unrecorded: number;
                    in_flight: number;
                };
                /** @description null while the books, or rows in a store, cannot be read, or their lines wait in LEDGER for 30 s */
                adds_up: boolean | null;
                wrong_owners: number;
                /** @description Open ones, at most 20 */
                differences: components["schemas"]["Difference"][];
            } | null;
            /** @description Why the latest reading failed; `account` is the previous one */
            account_why: string | null;
        };
        Trouble: {
            code: string;
            /** @enum {string} */
            severity: "page" | "ticket";
            text: string;
            remedy: string;
            runbook: string;
        };
        StreamOnTheLine: {
            stream: string;
            consumer: string | null;
            /** @enum {string} */
            state: "read" | "missing" | "unread";
            messages: number;
            bytes: number;
            bytes_max: number;
            /** @description bytes / bytes_max */
            fill: number;
            oldest_age_seconds: number;
            /** @description Messages that no worker has been given yet */
            pending: number;
            /** @description Messages that workers hold */
            ack_pending: number;
            redelivered: number;
            /** @description Pulls of workers that wait for messages */
            waiting_pulls: number;
            /** @description Over the last minute */
            messages_in_per_second: number | null;
            /** @description Over the last minute */
            growth_bytes_per_second: number | null;
            /** @description At this growth; null where it does not grow */
            seconds_to_full: number | null;
            read_seconds_ago: number;
        };
        Process: {
            /** @description Of this life of the process */
            id: string;
            /** @enum {string} */
            role: "ingress" | "transfer" | "metadata";
            host: string;
            pid: number;
            version: string;
            /** @description Unix seconds */
            started_at: number;
            /**
             * @description gone: silent for five seconds
             * @enum {string}
             */
            state: "ready" | "not_ready" | "gone";
            silent_seconds: number;
            /** @description What keeps it from its work, as /readyz names it */
            failing: {
                check: string;
                why: string;
            }[];
            /** @description Shared dependencies that are away, as /readyz names them; the process continues */
            degraded: {
                check: string;
                why: string;
            }[];
            /** @description ingress: acknowledged items; transfer: stored items; metadata: requests */
            items_per_second: number;
            /** @description ingress: request bodies; transfer: acknowledged messages */
            bytes_per_second: number;
            dropped_per_second: number;
            /** @description Refused requests */
            refused_per_second: number;
            dead_lettered_per_second: number;
            /** @description The five reasons of most drops */
            dropped: {
                reason: string;
                per_second: number;
            }[];
            /** @description Of ingress; else null */
            bytes_in_flight: number | null;
            /** @description Of ingress; else null */
            connections: number | null;
            /** @description Share of one core */
            cpu: number;
            event_loop_p99_ms: number;
            rss_bytes: number;
            /** @description Of transfer */
            pipelines: {
                pipeline: string;
                /** @description Items whose rows were stored */
                items_per_second: number;
                rows_per_second: number;
                dropped_per_second: number;
                dead_lettered_per_second: number;
                /** @description Of acknowledged messages */
                bytes_per_second: number;
                acks_per_second: number;
                retries_per_second: number;
                /** @description Of the last second; null without a write */
                write_p99_ms: number | null;
                held_bytes: number;
                tables_set_aside: number;
                /** @description Messages that wait because a table accepts no rows */
                messages_waiting: number;
                breaker_open: boolean;
                /** @description The consumer waits: dead letters cannot be stored */
                held_by_dead_letters: boolean;
            }[];
        };
        ProcessWithSeries: {
            /** @description Of this life of the process */
            id: string;
            /** @enum {string} */
            role: "ingress" | "transfer" | "metadata";
            host: string;
            pid: number;
            version: string;
            /** @description Unix seconds */
            started_at: number;
            /**
             * @description gone: silent for five seconds
             * @enum {string}
             */
            state: "ready" | "not_ready" | "gone";
            silent_seconds: number;
            /** @description What keeps it from its work, as /readyz names it */
            failing: {
                check: string;
                why: string;
            }[];
            /** @description Shared dependencies that are away, as /readyz names them; the process continues */
            degraded: {
                check: string;
                why: string;
            }[];
            /** @description ingress: acknowledged items; transfer: stored items; metadata: requests */
            items_per_second: number;
            /** @description ingress: request bodies; transfer: acknowledged messages */
            bytes_per_second: number;
            dropped_per_second: number;
            /** @description Refused requests */
            refused_per_second: number;
            dead_lettered_per_second: number;
            /** @description The five reasons of most drops */
            dropped: {
                reason: string;
                per_second: number;
            }[];
            /** @description Of ingress; else null */
            bytes_in_flight: number | null;
            /** @description Of ingress; else null */
            connections: number | null;
            /** @description Share of one core */
            cpu: number;
            event_loop_p99_ms: number;
            rss_bytes: number;
            /** @description Of transfer */
            pipelines: {
                pipeline: string;
                /** @description Items whose rows were stored */
                items_per_second: number;
                rows_per_second: number;
                dropped_per_second: number;
                dead_lettered_per_second: number;
                /** @description Of acknowledged messages */
                bytes_per_second: number;
                acks_per_second: number;
                retries_per_second: number;
                /** @description Of the last second; null without a write */
                write_p99_ms: number | null;
                held_bytes: number;
                tables_set_aside: number;
                /** @description Messages that wait because a table accepts no rows */
                messages_waiting: number;
                breaker_open: boolean;
                /** @description The consumer waits: dead letters cannot be stored */
                held_by_dead_letters: boolean;
            }[];
            /** @description A value per second of the last 120, the newest last; null: no pulse */
            series: {
                items_per_second: (number | null)[];
                bytes_per_second: (number | null)[];
                dropped_per_second: (number | null)[];
                refused_per_second: (number | null)[];
                dead_lettered_per_second: (number | null)[];
                cpu: (number | null)[];
                event_loop_p99_ms: (number | null)[];
            };
        };
        RunbookEntry: {
            /** @description The alarm in small letters */
            name: string;
            /** @description The alarm */
            title: string;
            /** @description Markdown */
            text: string;
        };
        StoreAccount: {
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            /** @description 0 for an application */
            data_id: number;
            /** @description 0 for points */
            app_id: number;
            /** @description Whether the store holds exactly the recorded rows; null where that is not known */
            adds_up: boolean | null;
            /** @description Why it is not known; else empty */
            why: string;
            differences: components["schemas"]["Difference"][];
        };
        Usage: {
            /** @description null for a day, and for owners without a record */
            mon_biz_id: number | null;
            /**
             * @description null for an application by owner, for a business and for a day; by signal, for requests that an earlier version counted without it
             * @enum {string|null}
             */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics" | null;
            /** @description 0 for an application, a business or a day */
            data_id: number;
            /** @description 0 for a data id, a business or a day */
            app_id: number;
            /** @description A day of UTC; null for an owner or a business */
            day: string | null;
            /** @description Answered with success, with something to store; repeats do not count */
            requests: number;
            /** @description Points, spans, log records and data points that the account calls received */
            items: number;
            /** @description Of the bodies as sent */
            wire_bytes: number;
            /** @description Of the bodies after decompression */
            inflated_bytes: number;
            /** @description Of one owner, all its signals together, in its busiest second at one receiver; also in the row of one signal */
            requests_per_second_max: number;
            /** @description Answered with an error; not part of `requests` */
            refused_requests: number;
            /** @description Repeats of stored requests; not part of `requests` */
            repeated_requests: number;
            /** @description Arrival of the last request that counts in `requests`, Unix seconds to the millisecond */
            last_seen: number | null;
            /** @description Address of its sender */
            last_sender: string;
            /** @description SDK of its sender, as it names itself */
            last_sdk: string;
            /** @description When anything was last sent, be it refused, repeated or rejected, Unix seconds: `last_seen`, or the minute of what came in a later one */
            last_sent: number | null;
        };
        SilentOwner: {
            mon_biz_id: number | null;
            data_id: number;
            app_id: number;
            /** @description Arrival of the last request that counts in `requests` of the usage, Unix seconds */
            last_seen: number;
            last_sender: string;
            last_sdk: string;
        };
        FailingSender: {
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            sender: string;
            sdk: string;
            reason: string;
            /** @description The data id that it names, whether it exists or not; 0 without one */
            data_id: number;
            app_id: number;
            /** @description Different hours with a failure */
            hours: number;
            /** @description Samples that are kept: it failed at least this often */
            samples: number;
            first_seen: number;
            last_seen: number;
        };
        DiskVolume: {
            /** @description data: the disk of the data folder, which the stores share; else the name of the store on it */
            disk: string;
            stores: string[];
            /** @description Of the tables */
            bytes: number;
            /** @description What a day adds: the bytes of the last whole day */
            bytes_per_day: number;
            /** @description null: not known */
            free_bytes: number | null;
            /** @description null: not known */
            total_bytes: number | null;
            /** @description Days until the disk is full at the growth of the last day, retention included; 0 where less than 2 % is free, 3650 for longer. null: not known */
            days_left: number | null;
            /** @description Why there is no forecast; empty where there is one */
            why: string;
        };
        DiskUsage: {
            store: string;
            /** @description null for a day, and for owners without a record */
            mon_biz_id: number | null;
            /**
             * @description null for a day, and for tables without an owner
             * @enum {string|null}
             */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics" | null;
            /** @description 0 for an application, a day, and tables without an owner */
            data_id: number;
            /** @description 0 for a data id, a day, and tables without an owner */
            app_id: number;
            /** @description A day of UTC; null for an owner, and for other rows */
            day: string | null;
            /** @description Days with rows */
            days: number;
            rows: number;
            /** @description On the disk; of items of applications, their share of the day */
            bytes: number;
            /** @description null for a day */
            bytes_per_day: number | null;
            /** @description null: kept for ever, and for a day */
            retention_days: number | null;
        };
        ListedDeadLetter: {
            /** @description Its id */
            sequence: number;
            /** @description Time of the dead-lettering, Unix seconds */
            at: number;
            reason: string;
            error: string;
            data_id: number | null;
            app_id: number | null;
            table: string | null;
            uid: string | null;
            /** @description Number of its points, spans, log records or data points */
            items: number;
            /** @description Number of earlier redrives */
            redrives: number;
            /** @description Size */
            bytes: number;
            /** @description No record counts its items as dead-lettered: they have another outcome already. Null while ClickHouse does not answer */
            orphan: boolean | null;
        };
        ShownDeadLetter: {
            /** @description Its id */
            sequence: number;
            /** @description Time of the dead-lettering, Unix seconds */
            at: number;
            reason: string;
            error: string;
            data_id: number | null;
            app_id: number | null;
            table: string | null;
            uid: string | null;
            /** @description Number of its points, spans, log records or data points */
            items: number;
            /** @description Number of earlier redrives */
            redrives: number;
            /** @description Size */
            bytes: number;
            /** @description No record counts its items as dead-lettered: they have another outcome already. Null while ClickHouse does not answer */
            orphan: boolean | null;
            stream: string;
            subject: string;
            stream_sequence: number;
            is_redrivable: boolean;
            shown: {
                /** @enum {string} */
                form: "rows" | "text" | "base64";
                rows?: {
                    [key: string]: unknown;
                }[];
                text?: string;
                /** @description Number of rows or bytes that are not shown */
                cut: number;
            };
        };
        DeadLettersDone: {
            /** @description Number of matching dead letters */
            matched: number;
            /** @description Points, spans, log records or data points in the processed dead letters (or in those of a dry run) */
            items: number;
            done: number;
            failed: {
                sequence: number;
                code: string;
                detail: string;
            }[];
            /** @description Not null: more follow, repeat the call with this cursor */
            next_cursor: string | null;
            /** @description Cursor for the real call after a dry run: it starts at the oldest dead letter and skips those that arrived after the first call. Null with `sequences` */
            first_cursor: string | null;
        };
        DeadLetter: {
            /** @description Its id */
            sequence: number;
            /** @description Time of the dead-lettering, Unix seconds */
            at: number;
            reason: string;
            error: string;
            data_id: number | null;
            app_id: number | null;
            table: string | null;
            uid: string | null;
            /** @description Number of its points, spans, log records or data points */
            items: number;
            /** @description Number of earlier redrives */
            redrives: number;
            /** @description Size */
            bytes: number;
        };
        Activity: {
            /** @description Time of the answer: take it for `since` */
            at: number;
            /**
             * @description receiving: a request was accepted in the last five minutes; refused: only refusals came in them; never: no accepted request is known
             * @enum {string}
             */
            state: "disabled" | "receiving" | "refused" | "silent" | "never";
            /** @description The last accepted request of the last 90 days */
            last_request: {
                /** @description Unix seconds to the millisecond */
                at: number;
                sender: string;
                sdk: string;
            } | null;
            /** @description Null without `since` */
            waiting: {
                since: number;
                /**
                 * @description What came at or after `since`: nothing, an item that was stored, or refusals alone
                 * @enum {string}
                 */
                state: "waiting" | "stored" | "refused";
                /** @description Unix seconds to the millisecond */
                stored_at: number | null;
            } | null;
            /** @description With `since`, the newest 20 at or after it; else the newest of each reason of the last day. The newest first. They are samples: GET /api/v1/outcomes has exact counts */
            refusals: components["schemas"]["Refusal"][];
            /** @description Minutes of arrival, the oldest first; the last one has just begun */
            minutes: {
                at: number;
                received: number;
                stored: number;
                dropped: number;
                dead_lettered: number;
                repeated: number;
                lost: number;
                stuck: number;
                unrecorded: number;
                refused_requests: number;
                /** @description Equal to an earlier request, and so not stored again */
                repeated_requests: number;
                values_lost: number;
            }[];
            /** @description As of GET /api/v1/outcomes: newer items are not counted yet. Null where all are */
            not_known_since: number | null;
            limits: {
                /** @enum {string} */
                name: "requests_per_second" | "metric_columns" | "dimension_columns";
                /** @description Null: no limit */
                limit: number | null;
                /** @description Requests: in the busiest second of the last hour */
                used: number | null;
            }[];
        };
        Refusal: {
            /** @description Unix seconds to the millisecond */
            at: number;
            reason: string;
            stage: string;
            /** @description Index in the request; -1 for the whole request */
            ordinal: number;
            field: string;
            value: string;
            detail: string;
            sender: string;
            sdk: string;
            /** @description False: more of them came than samples are kept */
            sampled: boolean;
            meaning: string;
            remedy: string;
        };
        TableFigures: {
            table_id: string;
            /**
             * @description wide: a row per point, a column per metric; narrow: a row per metric
             * @enum {string}
             */
            layout: "wide" | "narrow";
            /** @description The QuestDB instance */
            instance: string;
            /** @description Visible rows */
            rows: number;
            /** @description On the disk */
            bytes: number;
            /** @description Days with rows */
            partitions: number;
            oldest_day: string | null;
            newest_day: string | null;
            /** @description Null: no limit */
            retention_days: number | null;
            /** @description True: written rows are kept, and invisible until it is resumed */
            is_suspended: boolean;
            /** @description Why it was suspended, in the words of QuestDB */
            why: string;
            /** @description False: a row that is written twice is stored twice */
            deduplicates: boolean;
            /** @description Confirmed commits that are not visible yet */
            pending_commits: number;
            /** @description The newest 31 days with rows, the oldest first */
            days: {
                day: string;
                rows: number;
                bytes: number;
            }[];
        };
        Cardinality: {
            /** @description Unix seconds: when it was counted, at most a minute ago */
            at: number;
            table_id: string;
            /**
             * @description wide: a row per point, a column per metric; narrow: a row per metric
             * @enum {string}
             */
            layout: "wide" | "narrow";
            metric_columns: number;
            /** @description Null: no limit */
            metric_columns_max: number | null;
            dimension_columns: number;
            /** @description Null: no limit */
            dimension_columns_max: number | null;
            dimensions: {
                name: string;
                column: string;
                /** @description Distinct values in the last 24 hours of event time; null: not counted in time */
                values: number | null;
                /** @description The same in the 24 hours before */
                values_before: number | null;
                /** @description Distinct values that the column has ever had, and one where rows lack it; QuestDB keeps them as long as the table; null: not read */
                values_known: number | null;
                /** @description The dimension has too many values: they go to more_dimensions since then, Unix seconds; null: they do not */
                full_since: number | null;
            }[];
            /** @description Values from which on a dimension is full; null: no limit. It does not apply to target */
            dimension_values_max: number | null;
            /** @description Why a column has no count; empty where all have */
            why: string;
        };
        Stores: {
            questdb: {
                instance: string;
                /** @description Why it does not answer; empty where it does */
                why: string;
                tables: number;
                /** @description Visible; null: not counted in time */
                rows: number | null;
                /** @description On the disk; null: not counted in time */
                bytes: number | null;
                /** @description Of the table that is furthest behind */
                pending_commits_max: number;
                /** @description The first 100 suspended tables */
                suspended: {
                    table_id: string;
                    why: string;
                    pending_commits: number;
                }[];
                /** @description The first 100 of them */
                without_upsert_keys: string[];
            }[];
            clickhouse: {
                /** @description Why it does not answer; empty where it does */
                why: string;
                version: string;
                /** @description Parts of a partition at which inserts are slowed down */
                parts_delay_at: number;
                tables: {
                    table: string;
                    rows: number;
                    bytes: number;
                    parts: number;
                    partitions: number;
                    parts_of_partition_max: number;
                }[];
                merges: {
                    table: string;
                    elapsed_seconds: number;
                    /** @description 0 to 1 */
                    progress: number;
                    bytes: number;
                }[];
                disks: {
                    disk: string;
                    free_bytes: number;
                    total_bytes: number;
                }[];
            };
        };
        Reason: {
            code: string;
            /**
             * @description What the reason applies to
             * @enum {string}
             */
            of: "request" | "item" | "value";
            /** @enum {string} */
            stage: "receiver" | "transfer";
            /** @enum {string} */
            fixable_by: "sender" | "operator" | "tidemark";
            meaning: string;
            remedy: string;
        };
        Finding: {
            name: string;
            ok: boolean;
            detail: string;
            /** @description Empty where the check succeeded */
            remedy: string;
            ms: number;
        };
        Setting: {
            /** @description The variable */
            setting: string;
            /** @description Secrets are hidden; null: not set */
            value: string | null;
            /** @description The variable, the place in the settings file, `default` or `not set` */
            source: string;
            meaning: string;
        };
        Snippets: {
            /** @description The push receiver, without a path */
            push_url: string;
            /** @description The OTLP receiver, without a path */
            otlp_url: string;
            /** @description The OTLP receiver over gRPC; null where there is none */
            grpc_url: string | null;
            items: components["schemas"]["Snippet"][];
        };
        Snippet: {
            /** @enum {string} */
            pipeline: "metrics" | "traces" | "logs" | "otel_metrics";
            name: string;
            title: string;
            /** @description As Markdown names it */
            language: string;
            /** @description Markdown; empty where it needs nothing */
            needs: string;
            text: string;
        };
        Points: {
            mon_data_id: number;
            table_id: string;
            questdb: string;
            since: number;
            until: number;
            /** @description Seconds of a bucket; null for raw rows */
            step: number | null;
            /** @description The start of each bucket, Unix seconds */
            buckets: number[];
            group_by: string[];
            series: {
                metric: string;
                /** @description The values of group_by */
                group: (string | null)[];
                /** @description Of the group; null without group_by */
                rows: number | null;
                /** @description One of each bucket */
                values: (number | null)[];
                /** @description Places of buckets whose sum is beyond the largest number, 1.8e308: they have points, and their value is null */
                too_large: number[];
            }[];
            /** @description At most 20 are answered, those with most rows */
            series_total: number;
            truncated: boolean;
            raw: {
                /** @description The last one is more_dimensions, JSON, where one of the rows has dimensions without a column */
                columns: string[];
                rows: (string | number | null)[][];
            } | null;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description null: QuestDB does not report it */
            rows_read: number | null;
        };
        PointsQuery: {
            /** @description The data id */
            data_id?: number;
            /** @description The table_id, instead of data_id */
            table?: string;
            metrics: string[];
            /**
             * @description How the values of a bucket become one
             * @default avg
             * @enum {string}
             */
            aggregate: "avg" | "min" | "max" | "sum" | "count" | "last";
            /** @default [] */
            filter: {
                /** @description A dimension, or target */
                dimension: string;
                /**
                 * @default =
                 * @enum {string}
                 */
                operator: "=" | "!=" | "in" | "not in";
                /** @description One value, or several for in and not in; null = the point has no such dimension */
                values: (string | null)[];
            }[];
            /** @default [] */
            group_by: string[];
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @description Seconds of a bucket; default the smallest one of at most 600 buckets */
            step?: number;
            /** @description Only points of exactly this time, Unix milliseconds */
            at?: number;
            /**
             * @description The last 50 rows instead of series
             * @default false
             */
            raw: boolean;
        };
        DimensionValues: {
            mon_data_id: number;
            table_id: string;
            questdb: string;
            since: number;
            until: number;
            values: {
                value: string | null;
                rows: number;
            }[];
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
        };
        Traces: {
            since: number;
            until: number;
            items: components["schemas"]["TraceSummary"][];
            next_cursor: string | null;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        TraceSummary: {
            trace_id: string;
            /** @description Name of the root span, else of the earliest one */
            root_name: string;
            root_service: string;
            has_root: boolean;
            /** @description Unix seconds to the millisecond */
            start: number;
            duration_ms: number;
            spans: number;
            errors: number;
            services: number;
        };
        TracesQuery: {
            /** @description Only of this application */
            app_id?: number;
            /** @description service.name */
            service?: string;
            span_name?: string;
            /** @enum {string} */
            status?: "unset" | "ok" | "error";
            /** @description A span of at least this long */
            min_duration_ms?: number;
            /** @description A span of at most this long */
            max_duration_ms?: number;
            /**
             * @description Each equals exactly
             * @default []
             */
            attributes: {
                /**
                 * @default span
                 * @enum {string}
                 */
                scope: "span" | "resource";
                key: string;
                value: string;
            }[];
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @default 20 */
            limit: number;
            /** @description The next_cursor of the page before, of the same query */
            cursor?: string;
        };
        Services: {
            since: number;
            until: number;
            items: {
                service: string;
                spans: number;
                span_names: {
                    name: string;
                    spans: number;
                }[];
            }[];
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        Trace: {
            trace_id: string;
            /** @description Start of the first span, nanoseconds since 1970 */
            start_unix_nano: string;
            duration_ns: number;
            /** @description By their start, at most 10,000 */
            spans: components["schemas"]["Span"][];
            resources: components["schemas"]["Attribute"][][];
            spans_total: number;
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        Span: {
            span_id: string;
            /** @description Empty for a root */
            parent_span_id: string;
            name: string;
            kind: string;
            service: string;
            app_id: number;
            /** @description Nanoseconds from the start of the trace */
            offset_ns: number;
            duration_ns: number;
            status: string;
            status_message: string;
            trace_state: string;
            scope: {
                name: string;
                version: string;
            };
            /** @description Its place in resources, from 0 */
            resource: number;
            attributes: components["schemas"]["Attribute"][];
            events: {
                /** @description Nanoseconds from the start of the span */
                offset_ns: number;
                name: string;
                attributes: components["schemas"]["Attribute"][];
            }[];
            links: {
                trace_id: string;
                span_id: string;
                trace_state: string;
                attributes: components["schemas"]["Attribute"][];
            }[];
        };
        Attribute: {
            key: string;
            value: string;
        };
        Red: {
            since: number;
            until: number;
            /** @description Seconds of a bucket; null without series */
            step: number | null;
            /** @description The start of each bucket, Unix seconds */
            buckets: number[];
            items: components["schemas"]["RedItem"][];
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        RedItem: {
            app_id: number;
            service: string;
            /** @description null: all of the service */
            operation: string | null;
            requests: number;
            /** @description Requests with the status Error */
            errors: number;
            /** @description Requests a second, over the whole period */
            per_second: number;
            /** @description From 0 to 1 */
            error_ratio: number;
            /** @description Milliseconds, at most 1 % off */
            p50_ms: number;
            /** @description Milliseconds, at most 1 % off */
            p95_ms: number;
            /** @description Milliseconds, at most 1 % off */
            p99_ms: number;
            /** @description One value of each bucket; null beyond the first 20 items */
            series: {
                requests: number[];
                errors: number[];
                /** @description null: no request in the bucket */
                p50_ms: (number | null)[];
                /** @description null: no request in the bucket */
                p95_ms: (number | null)[];
                /** @description null: no request in the bucket */
                p99_ms: (number | null)[];
            } | null;
        };
        RedQuery: {
            /** @description Only of this application */
            app_id?: number;
            /** @description service.name */
            service?: string;
            /** @description Name of the spans */
            operation?: string;
            /**
             * @description Kinds of spans that count as requests
             * @default [
             *       "server",
             *       "consumer"
             *     ]
             */
            kinds: ("unspecified" | "internal" | "server" | "client" | "producer" | "consumer")[];
            /**
             * @description An item for each service, or for each operation of each service
             * @default service
             * @enum {string}
             */
            by: "service" | "operation";
            /**
             * @description Also the buckets of the first 20 items
             * @default false
             */
            series: boolean;
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @description Seconds of a bucket; default the smallest one of at most 600 buckets */
            step?: number;
            /** @default 100 */
            limit: number;
        };
        Logs: {
            since: number;
            until: number;
            items: components["schemas"]["LogRecord"][];
            next_cursor: string | null;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        LogRecord: {
            /** @description Nanoseconds since 1970 */
            time_unix_nano: string;
            /** @description null: the sender gave none */
            observed_time_unix_nano: string | null;
            app_id: number;
            service: string;
            /** @description 0: the sender gave none */
            severity_number: number;
            severity_text: string;
            /** @description Its first 4096 characters */
            body: string;
            /** @description Of the whole body */
            body_bytes: number;
            event_name: string;
            /** @description Empty: of no trace */
            trace_id: string;
            span_id: string;
            scope: {
                name: string;
                version: string;
            };
            attributes: components["schemas"]["Attribute"][];
            resource: components["schemas"]["Attribute"][];
        };
        LogsQuery: {
            /** @description Only of this application */
            app_id?: number;
            /** @description service.name */
            service?: string;
            /**
             * @description At least this severe; log records without a severity are left out
             * @enum {string}
             */
            severity?: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
            /** @description Text in the body, case-sensitive, as whole words: no further ASCII letter or digit may follow at its ends */
            text?: string;
            trace_id?: string;
            /**
             * @description Each equals exactly
             * @default []
             */
            attributes: {
                /**
                 * @default log
                 * @enum {string}
                 */
                scope: "log" | "resource";
                key: string;
                value: string;
            }[];
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @default 50 */
            limit: number;
            /** @description The next_cursor of the page before, of the same query */
            cursor?: string;
        };
        Metrics: {
            since: number;
            until: number;
            items: components["schemas"]["Metric"][];
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        Metric: {
            app_id: number;
            service: string;
            kind: string;
            unit: string;
            /**
             * @description As the sender chose it; null for gauges and summaries
             * @enum {string|null}
             */
            temporality: "unspecified" | "delta" | "cumulative" | null;
            name: string;
            is_monotonic: boolean;
            /** @description Distinct resources, scopes and attributes of data points; the order of attributes does not matter */
            series: number;
            /** @description The ten attributes with most distinct values */
            attributes: {
                key: string;
                values: number;
            }[];
            /** @description Of its last data point */
            last_time_unix_nano: string;
        };
        MetricsQuery: {
            /** @description Only of this application */
            app_id?: number;
            /** @description service.name */
            service?: string;
            /** @enum {string} */
            kind?: "gauge" | "sum" | "histogram" | "exponential_histogram" | "summary";
            /** @description The metric */
            name?: string;
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @default 100 */
            limit: number;
        };
        LastValues: {
            since: number;
            until: number;
            items: components["schemas"]["LastValue"][];
            truncated: boolean;
            /** @description The statements that ran, in their order */
            sql: string[];
            /** @description Milliseconds of the call */
            elapsed_ms: number;
            /** @description Rows that ClickHouse read */
            rows_read: number;
        };
        LastValue: {
            app_id: number;
            service: string;
            kind: string;
            unit: string;
            /**
             * @description As the sender chose it; null for gauges and summaries
             * @enum {string|null}
             */
            temporality: "unspecified" | "delta" | "cumulative" | null;
            /** @description Nanoseconds since 1970 */
            time_unix_nano: string;
            /** @description Of a gauge or a sum, a number as text: integers in full, also nan, inf, -inf. Else null */
            value: string | null;
            /** @description Of a histogram, an exponential histogram or a summary, as its last data point has it: a cumulative one counts since the start of its series. Else null */
            distribution: {
                count: string;
                /** @description null where the data point has none */
                sum: string | null;
                min: string | null;
                max: string | null;
                /** @description 0.5, 0.95 and 0.99, estimated from the buckets (null without buckets); of a summary those that its sender computed */
                quantiles: {
                    level: number;
                    value: string | null;
                }[];
            } | null;
            attributes: components["schemas"]["Attribute"][];
            /** @description The instrumentation scope, by which series differ, too */
            scope: {
                name: string;
                attributes: components["schemas"]["Attribute"][];
            };
            resource: components["schemas"]["Attribute"][];
        };
        LastValuesQuery: {
            /** @description Only of this application */
            app_id?: number;
            /** @description service.name */
            service?: string;
            /** @enum {string} */
            kind?: "gauge" | "sum" | "histogram" | "exponential_histogram" | "summary";
            /** @description The metric */
            name: string;
            /**
             * @description Each equals exactly
             * @default []
             */
            attributes: {
                /**
                 * @default data_point
                 * @enum {string}
                 */
                scope: "data_point" | "resource";
                key: string;
                value: string;
            }[];
            /** @description At or after this time, Unix seconds; default an hour before until */
            since?: number;
            /** @description Before this time, Unix seconds; default now */
            until?: number;
            /**
             * @description Allows a period of more than 7 days
             * @default false
             */
            wide: boolean;
            /** @default 100 */
            limit: number;
        };
        AuditEntry: {
            audit_id: string;
            at: number;
            actor: {
                token_id: number | null;
                name: string;
                /** @enum {string} */
                role: "admin" | "editor" | "viewer" | "node" | "none";
            };
            operator: string | null;
            action: string;
            target: {
                kind: string;
                id: string | null;
            };
            /** @enum {string} */
            outcome: "done" | "failed" | "interrupted";
            code?: string;
            changes: {
                kind: string;
                id: string | null;
                before?: unknown;
                after?: unknown;
            }[];
            changes_cut?: number;
            request?: unknown;
        };
        AdminToken: {
            token_id: number;
            name: string;
            /** @enum {string} */
            role: "admin" | "editor" | "viewer" | "node";
            mon_biz_id: number | null;
            creator: string;
            create_time: number;
            expires_at: number | null;
            is_revoked: boolean;
        };
        Backup: {
            /** @enum {string} */
            format: "tidemark-records";
            /** @enum {number} */
            version: 1;
            exported_at: number;
            counters: {
                data_id: number;
                custom_report_id: number;
                time_series_group_id: number;
                app_id: number;
            };
            custom_reports: {
                [key: string]: {
                    custom_report_id: number;
                    mon_biz_id: number;
                    name: string;
                    scenario: string;
                    data_label: string;
                    description: string;
                    is_split_measurement: boolean;
                    is_platform: boolean;
                    /** @enum {string} */
                    state: "creating" | "active" | "deleted" | "purging" | "purged";
                    mon_data_id: number;
                    time_series_group_id: number;
                    table_id: string;
                    creator: string;
                    create_time: number;
                    last_modify_user: string;
                    last_modify_time: number;
                };
            };
            data_sources: {
                [key: string]: {
                    mon_data_id: number;
                    token: string;
                    data_name: string;
                    data_description: string;
                    mq_cluster_id: number;
                    mq_config_id: number;
                    etl_config: string;
                    is_custom_source: boolean;
                    creator: string;
                    create_time: number;
                    last_modify_user: string;
                    last_modify_time: number;
                    type_label: string;
                    source_label: string;
                    custom_label: string | null;
                    source_system: string;
                    is_enable: boolean;
                    transfer_cluster_id: string;
                    is_platform_data_id: boolean;
                    space_type_id: string;
                    space_uid: string;
                };
            };
            time_series_groups: {
                [key: string]: {
                    mon_data_id: number;
                    mon_biz_id: number;
                    table_id: string;
                    max_rate: number;
                    label: string;
                    is_enable: boolean;
                    is_delete: boolean;
                    creator: string;
                    create_time: number;
                    last_modify_user: string;
                    last_modify_time: number;
                    is_split_measurement: boolean;
                    time_series_group_id: number;
                    time_series_group_name: string;
                };
            };
            result_tables: {
                [key: string]: {
                    table_id: string;
                    table_name_zh: string;
                    is_custom_table: boolean;
                    schema_type: string;
                    default_storage: string;
                    creator: string;
                    create_time: number;
                    last_modify_user: string;
                    last_modify_time: number;
                    mon_biz_id: number;
                    is_deleted: boolean;
                    is_enable: boolean;
                    label: string;
                    data_label: string;
                };
            };
            /** @default {} */
            placements: {
                [key: string]: {
                    mon_data_id: number;
                    table_id: string;
                    /** @description The QuestDB instance */
                    questdb: string;
                };
            };
            source_policies: {
                [key: string]: {
                    ahead_seconds_max?: number | null;
                    age_seconds_max?: number | null;
                    points_max?: number;
                    metric_columns_max?: number;
                    dimension_columns_max?: number;
                    retention_days?: number | null;
                    retention_days_initial?: number;
                    removed_before_day?: number;
                };
            };
            previous_tokens: {
                [key: string]: {
                    token: string;
                    expires_at: number;
                };
            };
            /** @default {} */
            source_identities: {
                [key: string]: {
                    identity_credential: string;
                };
            };
            purges: {
                [key: string]: {
                    mon_data_id: number;
                    table_id: string;
                    /** @enum {string} */
                    state: "purging" | "purged";
                    requested_at: number;
                    requested_by: string;
                };
            };
            applications: {
                [key: string]: {
                    app_id: number;
                    mon_biz_id: number;
                    app_name: string;
                    token: string;
                    is_enable: boolean;
                    is_delete: boolean;
                    max_rate: number;
                    creator: string;
                    create_time: number;
                    last_modify_user: string;
                    last_modify_time: number;
                };
            };
            application_policies: {
                [key: string]: {
                    ahead_seconds_max?: number | null;
                    age_seconds_max?: number | null;
                    spans_max?: number;
                    records_max?: number;
                    data_points_max?: number;
                    series_max?: number | null;
                    attributes_max?: number;
                    events_max?: number;
                    links_max?: number;
                    value_bytes_max?: number;
                    deduplicate?: boolean;
                    fill_dimensions?: boolean;
                    retention_days?: number | null;
                    retention_days_initial?: number;
                    removed_before_day?: number;
                };
            };
            previous_application_tokens: {
                [key: string]: {
                    token: string;
                    expires_at: number;
                };
            };
            /** @default {} */
            application_identities: {
                [key: string]: {
                    identity_credential: string;
                };
            };
            subscriptions: {
                [key: string]: {
                    subscription_id: number | null;
                    mon_data_id: number;
                    custom_report_id: number | null;
                    mon_biz_id: number;
                    /** @enum {string} */
                    adapter: "polling" | "http";
                    md5: string;
                    params_md5: string;
                    document: string;
                    /** @enum {string} */
                    state: "creating" | "installing" | "active" | "deleting";
                    created: number;
                    updated: number;
                    intent?: {
                        key: string;
                        params: {
                            [key: string]: unknown;
                        };
                    };
                    previous?: {
                        md5: string;
                        expires_at: number;
                        document: string;
                    };
                    /** @enum {string} */
                    removal?: "limited" | "uninstalled";
                };
            };
            columns: {
                [key: string]: {
                    mon_data_id: number;
                    metrics: {
                        name: string;
                        column: string;
                        first_seen: number;
                        last_seen: number;
                        full_since?: number;
                    }[];
                    dimensions: {
                        name: string;
                        column: string;
                        first_seen: number;
                        last_seen: number;
                        full_since?: number;
                    }[];
                };
            };
        };
        ConsoleLink: {
            path: string;
            expires_at: number;
        };
        NodeSubscriptions: {
            items: {
                subscription_id: number;
                mon_data_id: number;
                /** @description The name of the file, unique in the list */
                name: string;
                /** @description MD5 of the document in hex */
                md5: string;
                /** @description The content of the file: YAML with the access token */
                document: string;
            }[];
            next_cursor: string | null;
            total: number;
        };
    };
    responses: {
        /** @description The body is not JSON */
        Problem400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No valid admin token */
        Problem401: {
            headers: {
                /** @description Bearer */
                "WWW-Authenticate": string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The role of the token does not allow this */
        Problem403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The state of the records does not allow this */
        Problem409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too large */
        Problem413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A value is invalid; the answer names the field */
        Problem422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A dependency is not available; the same call may be repeated */
        Problem503: {
            headers: {
                /** @description Seconds to wait */
                "Retry-After": string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The record does not exist */
        Problem404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The ETag of the record differs from If-Match */
        Problem412: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many queries at once */
        Problem429: {
            headers: {
                /** @description Seconds to wait */
                "Retry-After": string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The query took too long */
        Problem504: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "monitor_web.custom_report.resources.CreateCustomTimeSeries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The business; 0 = the platform, below 0 a space that is no business */
                    mon_biz_id: number;
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    name: string;
                    /**
                     * @description Its subject
                     * @default others
                     * @enum {string}
                     */
                    scenario?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /**
                     * @description Names for queries, separated by commas
                     * @default
                     */
                    data_label?: string;
                    /** @default false */
                    is_platform?: boolean;
                    desc?: string;
                    /** @description Information only, one line; no control or bidirectional characters */
                    description?: string;
                    /** @default false */
                    is_split_measurement?: boolean;
                    /** @description The QuestDB instance of the table; default the instance with the fewest tables */
                    questdb?: string;
                    /**
                     * @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none
                     * @default -1
                     */
                    max_rate?: number;
                    /** @description Required where mon_biz_id is below 0, otherwise omitted: <space_type_id>__<id> */
                    space_uid?: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                    /** @default unknown */
                    source_system?: string;
                    /**
                     * @default time_series
                     * @enum {string}
                     */
                    type_label?: "time_series";
                    /**
                     * @default custom
                     * @enum {string}
                     */
                    source_label?: "custom";
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedReport"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    "metadata.resources.resources.CreateDataIDResource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Unique; its business is that of the source */
                    data_name: string;
                    /** @description The business; 0 = the platform, below 0 a space that is no business */
                    mon_biz_id?: number;
                    /** @description Information only, one line; no control or bidirectional characters */
                    data_description?: string;
                    /**
                     * @default mon_standard_v2_time_series
                     * @enum {string}
                     */
                    etl_config?: "mon_standard_v2_time_series";
                    /** @default true */
                    is_custom_source?: boolean;
                    /** @default false */
                    is_platform_data_id?: boolean;
                    /** @default null */
                    custom_label?: string | null;
                    /** @description Required where mon_biz_id is below 0, otherwise omitted: <space_type_id>__<id> */
                    space_uid?: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                    /** @default unknown */
                    source_system?: string;
                    /**
                     * @default time_series
                     * @enum {string}
                     */
                    type_label?: "time_series";
                    /**
                     * @default custom
                     * @enum {string}
                     */
                    source_label?: "custom";
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedDataSource"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    "metadata.resources.resources.CreateTimeSeriesGroupResource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The data id */
                    mon_data_id: number;
                    /** @description The business; 0 = the platform, below 0 a space that is no business */
                    mon_biz_id: number;
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    time_series_group_name: string;
                    /**
                     * @description Its subject
                     * @default others
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @default false */
                    is_split_measurement?: boolean;
                    /** @description The QuestDB instance of the table; default the instance with the fewest tables */
                    questdb?: string;
                    /**
                     * @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none
                     * @default -1
                     */
                    max_rate?: number;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    "metadata.models.result_table.ResultTable.create_result_table": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The data id */
                    mon_data_id: number;
                    table_id?: string;
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    table_name_zh?: string;
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /**
                     * @description Names for queries, separated by commas
                     * @default
                     */
                    data_label?: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_custom_reports: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                mon_data_id?: number;
                time_series_group_id?: number;
                name?: string;
                table_id?: string;
                state?: "creating" | "active" | "deleted" | "purging" | "purged";
                scenario?: string;
                is_platform?: boolean;
                is_split_measurement?: boolean;
                system?: boolean;
                /** @description At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["CustomReport"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_custom_reports_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomReport"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_custom_reports_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_custom_reports_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    /** @description Information only, one line; no control or bidirectional characters */
                    description?: string;
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    scenario?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Names for queries, separated by commas */
                    data_label?: string;
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
                "application/json": {
                    /** @description Information only, one line; no control or bidirectional characters */
                    description?: string;
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    scenario?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Names for queries, separated by commas */
                    data_label?: string;
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_custom_reports_by_id_records: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_custom_reports_by_id_enable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_custom_reports_by_id_disable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_custom_reports_by_id_purge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of the table whose rows are dropped, as confirmation */
                    table_id: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportRecords"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                mon_data_id?: number;
                data_name?: string;
                name?: string;
                space_uid?: string;
                custom_label?: string;
                is_enable?: boolean;
                is_platform_data_id?: boolean;
                has_report?: boolean;
                system?: boolean;
                /** @description At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DataSource"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_data_sources_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    /** @description Information only, one line; no control or bidirectional characters */
                    data_description?: string;
                    custom_label?: string | null;
                    source_system?: string;
                } & {
                    [key: string]: unknown;
                };
                "application/json": {
                    /** @description Information only, one line; no control or bidirectional characters */
                    data_description?: string;
                    custom_label?: string | null;
                    source_system?: string;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_enable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_disable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_purge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of the table whose rows are dropped, as confirmation */
                    table_id: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_time_series_groups: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                mon_data_id?: number;
                time_series_group_id?: number;
                time_series_group_name?: string;
                name?: string;
                table_id?: string;
                label?: string;
                is_enable?: boolean;
                is_delete?: boolean;
                has_report?: boolean;
                system?: boolean;
                /** @description At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["TimeSeriesGroup"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_time_series_groups_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_time_series_groups_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_time_series_groups_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
                "application/json": {
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_time_series_groups_by_id_columns: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Column"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_time_series_groups_by_id_enable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_time_series_groups_by_id_disable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimeSeriesGroup"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_result_tables: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                mon_data_id?: number;
                table_id?: string;
                table_name_zh?: string;
                name?: string;
                label?: string;
                data_label?: string;
                is_enable?: boolean;
                is_deleted?: boolean;
                has_report?: boolean;
                system?: boolean;
                /** @description At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ResultTable"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_result_tables_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The table_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_result_tables_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The table_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_result_tables_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The table_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    table_name_zh?: string;
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Names for queries, separated by commas */
                    data_label?: string;
                } & {
                    [key: string]: unknown;
                };
                "application/json": {
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    table_name_zh?: string;
                    /**
                     * @description Its subject
                     * @enum {string}
                     */
                    label?: "others" | "other_rt" | "os" | "host_process" | "host_device" | "kubernetes" | "application_check" | "uptimecheck" | "apm" | "component" | "service_module" | "service_process" | "hardware_device" | "applications" | "services" | "hosts" | "data_center";
                    /** @description Names for queries, separated by commas */
                    data_label?: string;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_result_tables_by_id_enable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The table_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_result_tables_by_id_disable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The table_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultTable"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_placements: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_data_id?: number;
                table_id?: string;
                questdb?: string;
                system?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Placement"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_applications: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                app_id?: number;
                app_name?: string;
                name?: string;
                is_enable?: boolean;
                is_delete?: boolean;
                system?: boolean;
                /** @description At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Application"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The business; 0 = the platform, below 0 a space that is no business */
                    mon_biz_id: number;
                    /** @description No control, bidirectional or invisible characters, no white space at its ends */
                    app_name: string;
                    /**
                     * @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none
                     * @default 0
                     */
                    max_rate?: number;
                    deduplicate?: boolean;
                    fill_dimensions?: boolean;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        application: components["schemas"]["CreatedApplication"];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_applications_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Application"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_applications_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        application: components["schemas"]["Application"];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_applications_by_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
                "application/json": {
                    /** @description Requests per second of the whole cluster: -1 the default, 0 unlimited, below -1 none */
                    max_rate?: number;
                } & {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        application: components["schemas"]["Application"];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications_by_id_enable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        application: components["schemas"]["Application"];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications_by_id_disable: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        application: components["schemas"]["Application"];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_rotate_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 3600 */
                    overlap_seconds?: number;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_reveal_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevealedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_custom_reports_by_id_rotate_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 3600 */
                    overlap_seconds?: number;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_custom_reports_by_id_reveal_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevealedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications_by_id_rotate_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 3600 */
                    overlap_seconds?: number;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications_by_id_reveal_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevealedToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_data_sources_by_id_policy: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    ahead_seconds_max?: number | "off" | null;
                    age_seconds_max?: number | "off" | null;
                    points_max?: number | null;
                    metric_columns_max?: number | null;
                    dimension_columns_max?: number | null;
                    retention_days?: number | "off" | null;
                };
                "application/json": {
                    ahead_seconds_max?: number | "off" | null;
                    age_seconds_max?: number | "off" | null;
                    points_max?: number | null;
                    metric_columns_max?: number | null;
                    dimension_columns_max?: number | null;
                    retention_days?: number | "off" | null;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_applications_by_id_policy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_applications_by_id_policy: {
        parameters: {
            query?: never;
            header?: {
                /** @description The expected ETag of the record, a list of ETags of which it has to have one, or `*` */
                "If-Match"?: string;
            };
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": {
                    ahead_seconds_max?: number | "off" | null;
                    age_seconds_max?: number | "off" | null;
                    spans_max?: number | null;
                    records_max?: number | null;
                    data_points_max?: number | null;
                    series_max?: number | "off" | null;
                    attributes_max?: number | null;
                    events_max?: number | null;
                    links_max?: number | null;
                    value_bytes_max?: number | null;
                    deduplicate?: boolean | null;
                    fill_dimensions?: boolean | null;
                    retention_days?: number | "off" | null;
                };
                "application/json": {
                    ahead_seconds_max?: number | "off" | null;
                    age_seconds_max?: number | "off" | null;
                    spans_max?: number | null;
                    records_max?: number | null;
                    data_points_max?: number | null;
                    series_max?: number | "off" | null;
                    attributes_max?: number | null;
                    events_max?: number | null;
                    links_max?: number | null;
                    value_bytes_max?: number | null;
                    deduplicate?: boolean | null;
                    fill_dimensions?: boolean | null;
                    retention_days?: number | "off" | null;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description The revision of the record */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            412: components["responses"]["Problem412"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_defaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Requests per second; 0 is unlimited */
                        max_rate: {
                            /** @description off: no limit; by_signal: the signals of an application differ */
                            value: number | boolean | ("off" | "by_signal");
                            /** @description Where metadata has it from: the variable, the place in the settings file, `tidemark up`, `default`, or the pipeline files */
                            origin: string;
                        };
                        data_id: {
                            [key: string]: components["schemas"]["DeploymentDefault"];
                        };
                        application: {
                            [key: string]: components["schemas"]["DeploymentDefault"];
                        };
                        /** @description The same for each signal of an application, by pipeline */
                        signals: {
                            [key: string]: {
                                [key: string]: components["schemas"]["DeploymentDefault"];
                            };
                        };
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id_retention: {
        parameters: {
            query?: {
                days?: "off" | string;
            };
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retention"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_applications_by_id_retention: {
        parameters: {
            query?: {
                days?: "off" | string;
            };
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retention"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    "metadata.task.custom_report.refresh_custom_report_2_node_man": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefreshRun"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_refresh_runs: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["RefreshRun"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_refresh_runs_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefreshRun"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_subscriptions: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                mon_biz_id?: number;
                mon_data_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Subscription"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_subscriptions_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_outcomes: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                by?: "minute" | "hour" | "day";
                group?: "reason";
                system?: boolean;
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        since: number;
                        until: number;
                        /** @description Unix seconds: since when the books cannot be compared, or lines of them wait in LEDGER, so that newer items are in no term; else null */
                        not_known_since: number | null;
                        /** @description Why, as the differences that each account has then; also the streams that cannot be read, of a data id its own one; else none */
                        not_known: components["schemas"]["Difference"][];
                        items: components["schemas"]["Balance"][];
                        /** @description There are more than 10000 items: these are the first, and those with an open difference */
                        truncated: boolean;
                        /** @description `stored` counts what was stored: the owners of `items` whose rows have been removed since */
                        removed: components["schemas"]["RemovedRows"][];
                        /** @description By time, those with items or refusals */
                        buckets: components["schemas"]["OutcomeBucket"][];
                        /** @description Sum over all data ids and applications */
                        in_flight: components["schemas"]["StreamInFlight"][];
                    };
                    "text/csv": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_drops: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                reason?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Drop"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_line: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Line"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_processes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ProcessWithSeries"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_runbook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: {
                            /** @description The alarm in small letters */
                            name: string;
                            /** @description The alarm */
                            title: string;
                        }[];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_runbook_by_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of an alarm, in any case */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunbookEntry"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_account_differences: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                /** @description Only this data id */
                owner?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Difference"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_account_differences_close: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description 0: those without a known owner */
                    data_id?: number;
                    app_id?: number;
                    /**
                     * @description Only this kind
                     * @enum {string}
                     */
                    kind?: "lost_in_the_stream" | "lost_by_the_engine" | "not_counted" | "stuck" | "orphan" | "missing_in_the_store" | "unrecorded" | "unmerged" | "not_known";
                    /** @description Only in this stream */
                    stream?: string;
                    /** @description Why it is closed; it stays visible. White space at its ends is removed */
                    reason: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        closed: components["schemas"]["Difference"][];
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_account_stores: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                /** @description Only this data id */
                owner?: number;
                day?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        compared: {
                            /** @description Owners and event days that were compared */
                            days: number;
                            /** @description Their recorded rows */
                            rows: number;
                        };
                        items: components["schemas"]["StoreAccount"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                by?: "owner" | "business" | "day" | "signal" | "owner_signal";
                /** @description Only the owners of this business */
                mon_biz_id?: number;
                format?: "json" | "csv";
                system?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        since: number;
                        until: number;
                        items: components["schemas"]["Usage"][];
                    };
                    "text/csv": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage_silent: {
        parameters: {
            query?: {
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SilentOwner"][];
                    };
                    "text/csv": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage_failing: {
        parameters: {
            query?: {
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                /** @description In at least this many different hours; default 6 */
                hours?: number;
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        since: number;
                        until: number;
                        items: components["schemas"]["FailingSender"][];
                    };
                    "text/csv": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage_disk: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
                by?: "owner" | "day";
                /** @description Only the owners of this business */
                mon_biz_id?: number;
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Unix seconds: when it was read, at most a minute ago */
                        at: number;
                        volumes: components["schemas"]["DiskVolume"][];
                        items: components["schemas"]["DiskUsage"][];
                        /** @description Stores that did not answer: their rows are not in `items` */
                        missing: {
                            store: string;
                            why: string;
                        }[];
                    };
                    "text/csv": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_dead_letters: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                pipeline?: "metrics" | "traces" | "logs" | "otel_metrics" | "ledger";
                reason?: string;
                data_id?: number;
                app_id?: number;
                table?: string;
                since?: number;
                until?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ListedDeadLetter"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_dead_letters_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownDeadLetter"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_dead_letters_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetter"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_dead_letters_redrive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Only those of this pipeline
                     * @enum {string}
                     */
                    pipeline?: "metrics" | "traces" | "logs" | "otel_metrics" | "ledger";
                    /** @description Only this reason, a code of /api/v1/reasons */
                    reason?: string;
                    data_id?: number;
                    app_id?: number;
                    table?: string;
                    /** @description Dead-lettered at or after this time, Unix seconds */
                    since?: number;
                    /** @description Dead-lettered before this time, Unix seconds */
                    until?: number;
                    /** @description Exactly these; without a filter, `all` or a cursor */
                    sequences?: number[];
                    /** @description Required as true when no filter is given */
                    all?: boolean;
                    /** @description Report the effect, change nothing */
                    dry_run?: boolean;
                    /** @default 1000 */
                    limit?: number;
                    /** @description next_cursor of the previous call, or first_cursor of a dry run */
                    cursor?: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLettersDone"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_dead_letters_purge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Only those of this pipeline
                     * @enum {string}
                     */
                    pipeline?: "metrics" | "traces" | "logs" | "otel_metrics" | "ledger";
                    /** @description Only this reason, a code of /api/v1/reasons */
                    reason?: string;
                    data_id?: number;
                    app_id?: number;
                    table?: string;
                    /** @description Dead-lettered at or after this time, Unix seconds */
                    since?: number;
                    /** @description Dead-lettered before this time, Unix seconds */
                    until?: number;
                    /** @description Exactly these; without a filter, `all` or a cursor */
                    sequences?: number[];
                    /** @description Required as true when no filter is given */
                    all?: boolean;
                    /** @description Report the effect, change nothing */
                    dry_run?: boolean;
                    /** @default 1000 */
                    limit?: number;
                    /** @description next_cursor of the previous call, or first_cursor of a dry run */
                    cursor?: string;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLettersDone"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_dead_letters_by_id_redrive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetter"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_consumers_by_pipeline_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                pipeline: "metrics" | "traces" | "logs" | "otel_metrics" | "ledger";
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pipeline: string;
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id_activity: {
        parameters: {
            query?: {
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description How many minutes of counts, default 60. 0: neither counts nor limits, for a call every second */
                minutes?: number;
            };
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_applications_by_id_activity: {
        parameters: {
            query?: {
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description How many minutes of counts, default 60. 0: neither counts nor limits, for a call every second */
                minutes?: number;
            };
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TableFigures"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_data_sources_by_id_cardinality: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cardinality"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_stores: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stores"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_reasons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Reason"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Unix seconds: when the checks began */
                        at: number;
                        well: boolean;
                        findings: components["schemas"]["Finding"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Setting"][];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_snippets: {
        parameters: {
            query?: {
                /** @description Only this data id */
                data_id?: number;
                /** @description Only this application */
                app_id?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snippets"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_data_sources_by_id_reveal_snippets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snippets"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_applications_by_id_reveal_snippets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snippets"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_query_points: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PointsQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Points"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    get_query_points_values: {
        parameters: {
            query: {
                /** @description Only this data id */
                data_id?: number;
                table?: string;
                /** @description A dimension, or target */
                dimension: string;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                /** @description Allows a period of more than 7 days */
                wide?: boolean;
                /** @description How many values at most */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DimensionValues"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    post_query_traces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TracesQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Traces"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    get_traces_services: {
        parameters: {
            query?: {
                /** @description Only this application */
                app_id?: number;
                /** @description At or after this time, Unix seconds */
                since?: number;
                /** @description Up to this time, Unix seconds */
                until?: number;
                /** @description Allows a period of more than 7 days */
                wide?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Services"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    get_traces_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The trace id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trace"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    post_query_red: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RedQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Red"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    post_query_logs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogsQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Logs"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    post_query_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["MetricsQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metrics"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    post_query_metrics_last: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LastValuesQuery"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LastValues"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
            504: components["responses"]["Problem504"];
        };
    };
    get_audit: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
                target_kind?: string;
                action?: string;
                target_id?: string;
                actor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AuditEntry"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_audit_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The audit_id */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_admin_tokens: {
        parameters: {
            query?: {
                /** @description How many items a page has at most */
                limit?: number;
                /** @description The next_cursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AdminToken"][];
                        next_cursor: string | null;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_admin_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description No control, bidirectional or invisible characters, and not the word `via`; white space at its ends is removed */
                    name: string;
                    /** @enum {string} */
                    role: "admin" | "editor" | "viewer" | "node";
                    mon_biz_id?: number | null;
                    expires_at?: number | null;
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        admin_token: components["schemas"]["AdminToken"];
                        /** @description The token itself */
                        token: string;
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_admin_tokens_by_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminToken"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_admin_tokens_by_id_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the record */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminToken"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_export: {
        parameters: {
            query?: {
                system?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_import: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Backup"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        created: number;
                        unchanged: number;
                    };
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    post_console_links: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Name of the requester: records have `<operator> via <name of the admin token>`, or only the name of the token where this is omitted */
                    operator?: string;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsoleLink"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            422: components["responses"]["Problem422"];
            /** @description The token has to wait */
            429: {
                headers: {
                    /** @description Seconds to wait */
                    "Retry-After": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["Problem503"];
        };
    };
    get_node_subscriptions: {
        parameters: {
            query?: {
                limit?: number;
                /** @description next_cursor of the previous page */
                cursor?: string;
            };
            header?: {
                /** @description The ETag of the last reading */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The business */
                biz: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the files */
            200: {
                headers: {
                    /** @description The state of all files of the business; the same on every page */
                    ETag: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeSubscriptions"];
                };
            };
            /** @description No file has changed since that ETag */
            304: {
                headers: {
                    /** @description The state of all files of the business; the same on every page */
                    ETag: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No valid node token */
            401: {
                headers: {
                    /** @description Bearer */
                    "WWW-Authenticate": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The node token belongs to another business */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The business is not an integer */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The files changed between two pages: start again with the first */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
}
