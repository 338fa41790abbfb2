package carillon.bench.dashboard;

import java.util.List;
import java.util.Map;

/**
 * A request that a page of the dashboard makes first, or a search that people do there. Names in
 * braces are placeholders for rows that {@link DashboardData} has created.
 *
 * @param page its name in the navigation
 * @param path with its query
 */
record PageRequest(String page, String path) {

  static final List<PageRequest> ALL =
      List.of(
          of("Every page", "/"),
          of("Every page", "/v1/me"),
          of("Every page", "/v1/tenants"),
          of("Overview", "/v1/stats"),
          of("Overview", "/v1/stats/series?window=hour"),
          of("Overview", "/v1/stats/series?window=day"),
          of("Overview", "/v1/stats/tenants"),
          of("Overview", "/v1/schedules?limit=100&fires=5"),
          of("Overview", "/v1/dead-letters/groups?limit=20"),
          of("Tasks", "/v1/tasks"),
          of("Tasks", "/v1/tasks?type={deadType}"),
          of("Tasks", "/v1/tasks?status=PENDING"),
          of("Tasks", "/v1/tasks?status=RUNNING"),
          of("Tasks", "/v1/tasks?status=COMPLETED"),
          of("Tasks", "/v1/tasks?status=CANCELLED"),
          of("Tasks", "/v1/tasks?status=EXPIRED&dueBefore={now}"),
          of("Tasks", "/v1/tasks?status=COMPLETED&dueAfter={from}&dueBefore={to}"),
          of("Tasks", "/v1/tasks?key={key}"),
          of("Tasks", "/v1/tasks?schedule=schedule-7"),
          of("Tasks", "/v1/tasks?error=no+such+text"),
          of("Tasks", "/v1/tasks?metadata.customer=c-8"),
          of("Tasks", "/v1/dead-letters"),
          of("Tasks", "/v1/dead-letters?type={deadType}"),
          of("Tasks", "/v1/dead-letters?key={key}"),
          of("Tasks", "/v1/dead-letters?error=no+such+text"),
          of("Tasks", "/v1/dead-letters?metadata.customer=c-8"),
          of("A task", "/v1/tasks/{task}"),
          of("A task", "/v1/tasks/{dead}"),
          of("A task", "/v1/tasks/{dead}/attempts"),
          of("A task", "/v1/tasks/{dead}/transitions"),
          of("A task", "/v1/audit?subject={dead}"),
          of("Dead letters", "/v1/dead-letters/groups"),
          of("Dead letters", "/v1/dead-letters/groups?type={deadType}"),
          of("Dead letters", "/v1/dead-letters?type={deadType}&group={group}"),
          of("Dead letters", "/v1/dead-letters?group={group}"),
          of("Dead letters", "/v1/redrives?limit=20"),
          of("Schedules", "/v1/schedules?limit=50&fires=14"),
          of("Schedules", "/v1/schedules/schedule-7"),
          of("Schedules", "/v1/schedules/schedule-7/fires?limit=100"),
          of("Schedules", "/v1/schedules/schedule-7/fires?limit=25&outcome=skipped"),
          of("Schedules", "/v1/schedules/schedule-7/backfills"),
          of("Types", "/v1/types?limit=200"),
          of("Types", "/v1/types/{deadType}"),
          of("Types", "/v1/types/{deadType}/stats"),
          of("Types", "/v1/stats/series?window=day&type={deadType}"),
          of("Cluster", "/v1/cluster"),
          of("Cluster", "/v1/cluster/storage"),
          of("Settings", "/v1/keys?limit=200"),
          of("Settings", "/v1/audit"),
          of("Settings", "/v1/audit?action=no.such.action"),
          of("Settings", "/v1/limits"));

  private static PageRequest of(String page, String path) {
    return new PageRequest(page, path);
  }

  String path(Map<String, String> examples) {
    String real = path;
    for (Map.Entry<String, String> example : examples.entrySet()) {
      real = real.replace("{" + example.getKey() + "}", example.getValue());
    }
    return real;
  }
}
