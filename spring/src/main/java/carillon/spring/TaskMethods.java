package carillon.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

/** Finds the methods with {@link CarillonTask} in all beans, without creating the beans. */
final class TaskMethods {

  private final ConfigurableListableBeanFactory beans;

  TaskMethods(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  /**
   * Returns all methods, sorted by type.
   *
   * @throws IllegalStateException if two methods have the same type, or one has unsupported
   *     parameters
   */
  List<TaskMethod> find() {
    Map<String, TaskMethod> byType = new TreeMap<>();
    for (String name : beans.getBeanDefinitionNames()) {
      for (TaskMethod method : methodsOf(name)) {
        TaskMethod other = byType.putIfAbsent(method.type(), method);
        if (other != null) {
          throw new IllegalStateException(
              "type " + method.type() + " has two methods: " + other + " and " + method);
        }
      }
    }
    return List.copyOf(byType.values());
  }

  private List<TaskMethod> methodsOf(String name) {
    // A scoped bean has two definitions; the proxy is the one to use.
    Class<?> type = name.startsWith("scopedTarget.") ? null : targetClass(name);
    if (type == null || !AnnotationUtils.isCandidateClass(type, CarillonTask.class)) {
      return List.of();
    }
    Map<Method, CarillonTask> found =
        MethodIntrospector.selectMethods(
            type,
            (Method method) ->
                AnnotatedElementUtils.findMergedAnnotation(method, CarillonTask.class));
    List<TaskMethod> methods = new ArrayList<>();
    found.forEach(
        (method, task) -> {
          Class<?> seen = beans.getType(name);
          Method callable = AopUtils.selectInvocableMethod(method, seen == null ? type : seen);
          methods.add(new TaskMethod(task.value(), () -> beans.getBean(name), callable));
        });
    return methods;
  }

  private @Nullable Class<?> targetClass(String name) {
    try {
      return AutoProxyUtils.determineTargetClass(beans, name);
    } catch (RuntimeException | LinkageError e) {
      return null; // abstract, or its class is missing: it cannot be called either
    }
  }
}
