package carillon.chaos.rules;

import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Every term has one leader, terms only rise, and no node writes in a term of another. */
final class LeadershipRules {

  private LeadershipRules() {}

  static List<Violation> stale(Facts facts) {
    List<Violation> found = new ArrayList<>();
    terms(ordered(facts, Table.LEADER_LOG), found);
    long newest = 0;
    for (Row write : ordered(facts, Table.SHARD_LOG)) {
      long term = write.number("term");
      long inForce = write.fields().number("in_force", term);
      newest = Math.max(newest, term);
      if (term < newest || term < inForce) {
        found.add(
            Violation.of(
                Rule.R11,
                null,
                "shard %s was assigned to %s by term %d during term %d",
                write.text("shard"),
                write.text("node"),
                term,
                Math.max(newest, inForce)));
      }
    }
    Set<String> labels = facts.labels();
    Map<Long, String> leaders = leaders(facts);
    List<Row> writes = ordered(facts, Table.SHARD_LOG);
    // API requests move cursors too, on any node.
    ordered(facts, Table.CURSOR_LOG).stream()
        .filter(row -> "carillon/engine".equals(row.text("pool")))
        .forEach(writes::add);
    writes.forEach(write -> byOtherThanLeader(write, labels, leaders, found));
    return found;
  }

  private static Map<Long, String> leaders(Facts facts) {
    Map<Long, String> leaders = new HashMap<>();
    for (Row row : facts.history().rows(Table.LEADER_LOG)) {
      String node = row.text("node");
      if (node != null) {
        leaders.put(row.number("term"), node);
      }
    }
    return leaders;
  }

  private static void byOtherThanLeader(
      Row write, Set<String> labels, Map<Long, String> leaders, List<Violation> found) {
    String session = write.text("session");
    String leader = write.text("leader");
    if (leader == null && write.fields().has("in_force")) {
      // A leader that resigns may finish a write in progress: the next term waits for it.
      leader = leaders.get(write.number("in_force"));
    }
    if (session == null || !labels.contains(session)) {
      return; // the session is not of a node
    }
    if (leader == null || !leader.startsWith(session + "-")) {
      String what = write.table() == Table.SHARD_LOG ? "shard " : "the cursor of schedule ";
      found.add(
          Violation.of(
              Rule.R11,
              null,
              "%s wrote %s%s in term %s, which %s leads",
              session,
              what,
              write.text(write.table() == Table.SHARD_LOG ? "shard" : "schedule"),
              write.text("in_force"),
              leader == null ? "nobody" : leader));
    }
  }

  private static List<Row> ordered(Facts facts, Table table) {
    List<Row> rows = new ArrayList<>(facts.history().rows(table));
    rows.sort(Comparator.comparingLong(row -> row.number("seq")));
    return rows;
  }

  private static void terms(List<Row> log, List<Violation> found) {
    Map<Long, String> leaders = new HashMap<>();
    for (Row row : log) {
      long term = row.number("term");
      long before = row.fields().number("from_term", 0);
      String node = row.text("node");
      if (term < before) {
        found.add(Violation.of(Rule.R11, null, "term %d followed term %d", term, before));
      }
      if (node == null) {
        continue; // the leader resigned
      }
      String first = leaders.putIfAbsent(term, node);
      if (first != null && !first.equals(node)) {
        found.add(
            Violation.of(Rule.R11, null, "term %d belongs to %s and to %s", term, first, node));
      }
      Long lease = row.micros("from_lease");
      if (term > before
          && row.text("from_node") != null
          && lease != null
          && lease > Facts.at(row)) {
        found.add(
            Violation.of(
                Rule.R11,
                null,
                "%s took term %d %d ms before the lease of %s expired",
                node,
                term,
                (lease - Facts.at(row)) / 1000,
                row.text("from_node")));
      }
    }
  }
}
